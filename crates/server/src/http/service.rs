//! HTTP as a service of one scheduler: what all its connections share.
//!
//! Owns the settings, the prepared reply pieces, the log, the counters and the client that fetches from other servers. Its
//! processes are clients' connections and those of that client.

use std::io;
use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{
    CloseReason, Command, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use sys::socket::Peer;
use wire::http::head::{self, FieldSlots, Head, Version};
use wire::http::status::Status;

use super::application::{Answer, AnswerContext, Application, Intake};
use super::connection::Connection;
use super::log::{AccessLine, AccessLog};
use super::pending::Pending;
use super::process::Process;
use super::reply::{BodyUse, Persistence, Reply, ReplyParts};
use super::request::Request;
use super::settings::Settings;
use super::stats::HttpStats;
use super::stream::{Begun, StreamFraming};
use crate::config::Network;
use crate::fetch::Client;

/// A request and its number on its connection.
pub(super) struct Asked<'r> {
    pub(super) request: Request<'r>,
    pub(super) number: u32,
}

/// What an answer means for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The next request may follow.
    Kept,
    /// That was the last one.
    Closed,
    /// Nothing was written, or nothing more.
    Wait,
    /// A part was written; [`Http::take_begun`] has what was begun.
    Part,
    /// The rest will not come: the connection ends in this way.
    Cut(Next),
}

/// An answer that was cut with its connection.
struct CutShort {
    pending: Box<Pending>,
    begun: Begun,
    peer: Peer,
}

/// The HTTP service of one scheduler.
pub struct Http<A> {
    application: A,
    settings: Arc<Settings>,
    parts: ReplyParts,
    log: Option<AccessLog>,
    stats: HttpStats,
    client: Client,
    /// Which configured listener each of this scheduler's own is; empty: they are the same.
    listeners: Vec<usize>,
    /// Room for the fields of the head that is being parsed; `None` while it is lent.
    slots: Option<Box<FieldSlots>>,
    /// What the part that was just written began. Not in the outcome, which every answer has.
    begun: Option<Begun>,
    /// Processes whose client has taken a part.
    taken: Vec<ProcessId>,
    /// Answers to be logged as they are.
    cut_short: Vec<CutShort>,
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

    /// Tells the application of a body that is handed over to it.
    pub(super) fn begin_body(
        &mut self,
        request: &Request<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Intake {
        let (id, now) = (context.id, context.now);
        let mut context = AnswerContext { id, now, mail: context.mail };
        self.application.begin_body(request, &mut context)
    }

    /// Hands a piece of a body over to the application.
    pub(super) fn hand_over(
        &mut self,
        piece: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Intake {
        let (id, now) = (context.id, context.now);
        let mut context = AnswerContext { id, now, mail: context.mail };
        self.application.on_body(piece, &mut context)
    }

    /// Has a request answered.
    #[inline(always)]
    pub(super) fn answer(
        &mut self,
        asked: &Asked<'_>,
        head: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Outcome {
        let full = self.settings.requests_per_connection.is_some_and(|most| asked.number >= most);
        let persistence = if !asked.request.head.persistent || full || context.is_draining() {
            Persistence::Closed
        } else if asked.request.version() == Version::Http10 {
            Persistence::KeptAlive
        } else {
            Persistence::Kept
        };
        self.answer_with(asked, head, persistence, None, context)
    }

    /// Has the rest of an answer made of which parts were sent.
    pub(super) fn go_on(
        &mut self,
        asked: &Asked<'_>,
        head: &[u8],
        begun: Begun,
        context: &mut Context<'_, A::Message>,
    ) -> Outcome {
        self.answer_with(asked, head, begun.persistence, Some(begun), context)
    }

    /// Has a request answered whose body will not be read.
    pub(super) fn answer_and_close(
        &mut self,
        asked: &Asked<'_>,
        head: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Outcome {
        self.answer_with(asked, head, Persistence::Closed, None, context)
    }

    #[inline(always)]
    fn answer_with(
        &mut self,
        asked: &Asked<'_>,
        head: &[u8],
        persistence: Persistence,
        begun: Option<Begun>,
        context: &mut Context<'_, A::Message>,
    ) -> Outcome {
        self.parts.set_second(context.now.unix_seconds);
        let request = &asked.request;
        let body_use = BodyUse::of_method(request.method());
        let mut reply = Reply {
            output: context.output,
            parts: &mut self.parts,
            version: request.version(),
            body_use,
            persistence,
            status: begun.map(|begun| begun.status),
            body_bytes: begun.map_or(0, |begun| begun.body_bytes),
            framing: begun.and_then(|begun| begun.framing),
        };
        let mut answer_context =
            AnswerContext { id: context.id, now: context.now, mail: context.mail };
        let answer = self.application.on_request(request, &mut reply, &mut answer_context);
        match answer {
            Answer::Wait => {
                self.stats.waited += 1;
                return Outcome::Wait;
            }
            Answer::Part => {
                if let Some(status) = reply.status {
                    self.begun = Some(reply.begun(status));
                    return Outcome::Part;
                }
            }
            Answer::Done | Answer::Cut => {}
        }
        if reply.status.is_none() {
            // The application said done and wrote nothing: its mistake, and the client must not hang for it.
            reply.empty(Status::INTERNAL_SERVER_ERROR);
        }
        if answer == Answer::Done {
            reply.end_parts();
        }
        let status = reply.status.unwrap_or(Status::INTERNAL_SERVER_ERROR);
        let (closed, body_bytes) = (reply.persistence == Persistence::Closed, reply.body_bytes);
        let framing = reply.framing;
        self.stats.count(status);
        if let Some(log) = &mut self.log {
            let body_bytes = if body_use == BodyUse::Omit { 0 } else { body_bytes };
            log.write(&AccessLine::of(request, head, status, body_bytes, context.now));
        }
        if answer == Answer::Cut {
            return Outcome::Cut(StreamFraming::cut(framing));
        }
        if closed { Outcome::Closed } else { Outcome::Kept }
    }

    /// What was begun by the part that was just written.
    pub(super) fn take_begun(&mut self) -> Option<Begun> {
        self.begun.take()
    }

    /// The client has taken a part: the next one is asked for when others had their turn.
    pub(super) fn note_taken(&mut self, process: ProcessId) {
        self.taken.push(process);
    }

    /// The connection of an answer that was begun has ended, or is about to. Counted and logged at the end of the turn: not
    /// everybody who ends one knows the time.
    pub(super) fn note_cut(&mut self, pending: Box<Pending>, begun: Begun, peer: Peer) {
        self.cut_short.push(CutShort { pending, begun, peer });
    }

    fn settle(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        for process in self.taken.drain(..) {
            context.command(Command::Resume(process));
        }
        for CutShort { pending, begun, peer } in std::mem::take(&mut self.cut_short) {
            self.stats.count(begun.status);
            let Some(log) = &mut self.log else { continue };
            let (status, bytes, now) = (begun.status, begun.body_bytes, context.now);
            let mut slots = FieldSlots::new();
            match head::parse(&pending.head, &self.settings.head, &mut slots) {
                Ok(Head::Complete { request, .. }) => {
                    let listener = ListenerIndex(0);
                    let request = Request { head: &request, body: &[], peer, listener };
                    log.write(&AccessLine::of(&request, &pending.head, status, bytes, now));
                }
                // Limit lowered by a reload meanwhile.
                _ => log.write(&AccessLine::of_refused(peer, status, bytes, now)),
            }
        }
    }

    /// Writes the reply to something that is no request, or one that came too late.
    pub(super) fn refuse(
        &mut self,
        peer: Peer,
        status: Status,
        body_use: BodyUse,
        context: &mut Context<'_, A::Message>,
    ) {
        self.parts.set_second(context.now.unix_seconds);
        self.stats.refused += 1;
        self.stats.count(status);
        let mut body = std::mem::take(&mut self.parts.body);
        body.clear();
        let content_type = self.application.error_page(status, &mut body);
        let mut reply = Reply {
            output: context.output,
            parts: &mut self.parts,
            version: Version::Http11,
            body_use,
            persistence: Persistence::Closed,
            status: None,
            body_bytes: 0,
            framing: None,
        };
        reply.begin(status);
        if status == Status::SERVICE_UNAVAILABLE {
            reply.prepared_fields(b"Retry-After: 1\r\n");
        }
        reply.prepared_fields(b"Content-Type: ");
        reply.prepared_fields(content_type.as_bytes());
        reply.prepared_fields(b"\r\n");
        reply.end_head_with_length(body.len() as u64);
        if reply.sends_body() {
            reply.output.put(&body);
        }
        if let Some(log) = &mut self.log {
            let body_bytes = if body_use == BodyUse::Omit { 0 } else { body.len() as u64 };
            log.write(&AccessLine::of_refused(peer, status, body_bytes, context.now));
        }
        self.parts.body = body;
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
