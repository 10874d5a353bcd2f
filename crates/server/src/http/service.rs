//! HTTP as a service of one scheduler: what all its connections share.
//!
//! Owns the settings, the prepared reply pieces, the log, the counters and the client that fetches from other servers. Its
//! processes are clients' connections and those of that client.

use std::io;
use std::sync::Arc;

use config::Network;
use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use sys::socket::Peer;
use wire::http::head::FieldSlots;

use super::answering::CutShort;
use super::application::Application;
use super::connection::Connection;
use super::log::AccessLog;
use super::process::Process;
use super::reply::ReplyParts;
use super::settings::Settings;
use super::stats::HttpStats;
use super::stream::Begun;
use crate::fetch::Client;

/// The HTTP service of one scheduler.
pub struct Http<A> {
    pub(super) application: A,
    pub(super) settings: Arc<Settings>,
    pub(super) parts: ReplyParts,
    pub(super) log: Option<AccessLog>,
    pub(super) stats: HttpStats,
    client: Client,
    /// Which configured listener each of this scheduler's own is; empty: they are the same.
    listeners: Vec<usize>,
    /// Room for the fields of the head that is being parsed; `None` while it is lent.
    slots: Option<Box<FieldSlots>>,
    /// What the part that was just written began. Not in the outcome, which every answer has.
    pub(super) begun: Option<Begun>,
    /// Processes whose client has taken a part.
    pub(super) taken: Vec<ProcessId>,
    /// Answers to be logged as they are.
    pub(super) cut_short: Vec<CutShort>,
}

impl<A: Application> Http<A> {
    /// A service whose requests this application answers.
    pub fn new(application: A, settings: Arc<Settings>, log: Option<AccessLog>) -> Self {
        Self {
            application,
            settings,
            parts: ReplyParts::new(),
            log,
            stats: HttpStats::default(),
            client: Client::default(),
            listeners: Vec::new(),
            slots: None,
            begun: None,
            taken: Vec::new(),
            cut_short: Vec::new(),
        }
    }

    /// The application.
    pub fn application(&self) -> &A {
        &self.application
    }

    /// The application, to change it.
    pub fn application_mut(&mut self) -> &mut A {
        &mut self.application
    }

    /// What was counted.
    pub fn stats(&self) -> &HttpStats {
        &self.stats
    }

    /// What fetches from other servers.
    pub fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The application and what fetches for it.
    pub fn parts_mut(&mut self) -> (&mut A, &mut Client) {
        (&mut self.application, &mut self.client)
    }

    /// Room for a head's fields: made once, because clearing it for every request would cost more than parsing.
    pub(super) fn lend_slots(&mut self) -> Box<FieldSlots> {
        self.slots.take().unwrap_or_default()
    }

    pub(super) fn return_slots(&mut self, slots: Box<FieldSlots>) {
        self.slots = Some(slots);
    }

    pub(super) fn stats_mut(&mut self) -> &mut HttpStats {
        &mut self.stats
    }

    /// Replaces the settings; open connections meet them at their next deadline or head.
    pub fn set_settings(&mut self, settings: Arc<Settings>) {
        self.settings = settings;
    }

    /// The settings in force.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The access log, if there is one.
    pub fn log_mut(&mut self) -> &mut Option<AccessLog> {
        &mut self.log
    }

    /// Counts log lines that had to be dropped because the disk could not follow.
    pub fn count_lost_lines(&mut self, lines: u64) {
        self.stats.log_dropped_lines += lines;
    }

    /// Says which configured listener each of this scheduler's own is, where not all are opened once by it.
    pub fn set_listeners(&mut self, configured: Vec<usize>) {
        self.listeners = configured;
    }

    pub(super) fn proxy_rules(&self, listener: ListenerIndex) -> &[Network] {
        let own = usize::from(listener.0);
        let configured = self.listeners.get(own).copied().unwrap_or(own);
        let rules = self.settings.listeners.get(configured);
        rules.map_or(&[], |rules| &rules.proxy_protocol_from)
    }
}

impl<A: Application> Service for Http<A> {
    type Process = Process;
    type Message = A::Message;

    const KINDS: &'static [&'static str] = Process::KINDS;

    #[inline]
    fn kind(process: &Process) -> usize {
        process.kind()
    }

    fn is_idle(process: &Process) -> bool {
        process.is_idle()
    }

    fn is_beginning(process: &Process) -> bool {
        process.is_beginning()
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Process> {
        Connection::new(self, listener, peer, context).map(Process::Connection)
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Process> {
        let outbound = self.client.on_connect(ticket, begun, context)?;
        Some(Process::Outbound(Box::new(outbound)))
    }

    #[inline]
    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        process.on_input(self, input, context)
    }

    fn on_event(
        &mut self,
        process: &mut Process,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        process.on_event(self, event, context)
    }

    fn on_cold_file(
        &mut self,
        _process: &Process,
        region: &FileRegion,
        context: &mut Context<'_, A::Message>,
    ) -> bool {
        self.application.on_cold_file(region, context)
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        process.on_close(self, reason);
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        message: A::Message,
        context: &mut ServiceContext<'_, A::Message>,
    ) {
        A::on_message(self, from, message, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        if !(self.taken.is_empty() && self.cut_short.is_empty()) {
            self.settle(context);
        }
        A::on_turn_end(self, context);
        self.client.end_turn(context);
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        self.settle(context);
        A::on_stop(self, context);
    }
}
