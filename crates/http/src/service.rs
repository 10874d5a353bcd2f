//! HTTP as a service of one scheduler: what all its connections share.
//!
//! Owns the settings, the prepared reply pieces, the log and the counters. It is a service by itself, whose processes are HTTP
//! connections. A service with several protocols contains one and forwards the events of HTTP connections to it.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use sys::socket::Peer;
use wire::http::head::FieldSlots;
use wire::network::Network;

use super::answering::CutShort;
use super::application::Application;
use super::connection::Connection;
use super::log::AccessLog;
use super::reply::ReplyParts;
use super::settings::Settings;
use super::stats::HttpStats;
use super::stream::Begun;

/// The HTTP service of one scheduler.
pub struct Http<A> {
    pub(super) application: A,
    pub(super) settings: Arc<Settings>,
    pub(super) parts: ReplyParts,
    pub(super) log: Option<AccessLog>,
    pub(super) stats: HttpStats,
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

    pub(super) fn proxy_rules(&self, listener: ListenerIndex) -> &[Network] {
        let rules = self.settings.listeners.get(usize::from(listener.0));
        rules.map_or(&[], |rules| &rules.proxy_protocol_from)
    }
}

impl<A: Application> Service for Http<A> {
    type Process = Connection;
    type Message = A::Message;

    const KINDS: &'static [&'static str] = &["http"];

    fn kind(_connection: &Connection) -> usize {
        0
    }

    fn is_idle(connection: &Connection) -> bool {
        connection.is_idle()
    }

    fn is_beginning(connection: &Connection) -> bool {
        connection.is_beginning()
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Connection> {
        Connection::new(self, listener, peer, context)
    }

    #[inline]
    fn on_input(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let mut progress = connection.on_input(self, input, context);
        progress.next = alone(progress.next);
        progress
    }

    fn on_event(
        &mut self,
        connection: &mut Connection,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        alone(connection.on_event(self, event, context))
    }

    fn on_cold_file(
        &mut self,
        _connection: &Connection,
        region: &FileRegion,
        context: &mut Context<'_, A::Message>,
    ) -> bool {
        self.application.on_cold_file(region, context)
    }

    fn on_close(&mut self, mut connection: Connection, _reason: CloseReason) {
        connection.leave(self);
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        A::on_start(self, context);
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
        self.settle(context);
        A::on_turn_end(self, context);
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        self.settle(context);
        A::on_stop(self, context);
    }
}

/// A service of HTTP alone has nothing that a connection could change into: it ends.
#[inline]
fn alone(next: Next) -> Next {
    if next == Next::Changed { Next::Linger } else { next }
}
