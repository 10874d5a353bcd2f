//! From a request to the application and back to its connection.
//!
//! Owns what all answers have in common: how the application is called, how answers are counted and
//! logged, and what they mean for the connection. Never decides the answer.

use runtime::output::FileRegion;
use runtime::service::{Command, Context, ListenerIndex, Next, ServiceContext};
use runtime::slots::ProcessId;
use sys::socket::Peer;
use wire::http::head::{self, FieldSlots, Head, Version};
use wire::http::method::Method;
use wire::http::status::Status;

use super::application::{Answer, AnswerContext, Application, Intake};
use super::framing::StreamFraming;
use super::log::AccessLine;
use super::pending::{CutShort, Pending};
use super::reply::{BodyUse, Persistence, Reply};
use super::request::Request;
use super::shared::Http;
use super::stream::Begun;

/// A request and its number on its connection.
pub(super) struct Asked<'r> {
    pub(super) request: Request<'r>,
    pub(super) number: u32,
}

impl<A: Application> Http<A> {
    /// Starts an event of a connection: notes its process, and the second for the `Date` of its replies.
    #[inline]
    pub(super) fn begin_event(&mut self, context: &Context<'_, A::Message>) {
        self.last = context.id;
        self.parts.set_second(context.now.unix_seconds);
    }

    /// Tells the application that a body will be handed over to it.
    pub(super) fn begin_body(
        &mut self,
        request: &Request<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Intake {
        let (id, now) = (context.id, context.now);
        let mut context = AnswerContext { id, now, mail: context.mail };
        self.application.begin_body(request, &mut context)
    }

    /// A file that a connection is sending is not in memory: [`runtime::service::Service::on_cold_file`].
    pub fn warm(&mut self, region: &FileRegion, context: &mut Context<'_, A::Message>) -> bool {
        self.begin_event(context);
        self.application.on_cold_file(region, context)
    }

    /// Hands a piece of a body to the application.
    pub(super) fn hand_over(
        &mut self,
        piece: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Intake {
        let (id, now) = (context.id, context.now);
        let mut context = AnswerContext { id, now, mail: context.mail };
        self.application.on_body(piece, &mut context)
    }

    /// Asks the application for the answer. Returns what the connection does next: `Park` if nothing was written ([`Answer::Wait`]) or only a
    /// part (then `begun` describes it), `Linger` or `Abort` if the rest will not come.
    #[inline(always)]
    pub(super) fn answer(
        &mut self,
        asked: &Asked<'_>,
        head: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Next {
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

    /// Asks for the rest of an answer of which parts were sent.
    pub(super) fn go_on(
        &mut self,
        asked: &Asked<'_>,
        head: &[u8],
        begun: Begun,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        self.answer_with(asked, head, begun.persistence, Some(begun), context)
    }

    /// Asks for the answer to a request whose body will not be read.
    pub(super) fn answer_and_close(
        &mut self,
        asked: &Asked<'_>,
        head: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Next {
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
    ) -> Next {
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
                return Next::Park;
            }
            Answer::Part => {
                if let Some(status) = reply.status {
                    self.begun = Some(reply.begun(status));
                    return Next::Park;
                }
            }
            Answer::Done | Answer::Upgrade | Answer::Cut => {}
        }
        if reply.status.is_none() {
            // The application said done but wrote nothing. That is its mistake, and the client must not hang because of it.
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
        match answer {
            Answer::Cut => StreamFraming::cut(framing),
            Answer::Upgrade if matches!(status, Status::SWITCHING_PROTOCOLS | Status::OK) => {
                Next::Changed
            }
            _ if closed => Next::Finish,
            _ => Next::Read,
        }
    }

    /// The client has read a part of an answer. The next part is requested after other processes have run.
    pub(super) fn note_taken(&mut self, process: ProcessId) {
        self.taken.push(process);
    }

    /// A connection ends before its answer was complete. Counted and logged at the end of the turn, because not every caller
    /// knows the time.
    pub(super) fn note_cut(&mut self, pending: Box<Pending>, begun: Begun, peer: Peer) {
        self.cut_short.push(CutShort { pending, begun, peer });
    }

    /// At the end of a turn, counts and logs incomplete answers, and resumes processes whose client has read a part. For a
    /// service that contains this one.
    pub fn settle(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        if self.taken.is_empty() && self.cut_short.is_empty() {
            return;
        }
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
                // The limit was lowered by a reload meanwhile.
                _ => log.write(&AccessLine::of_refused(peer, &pending.head, status, bytes, now)),
            }
        }
    }

    /// Writes the reply to something that is no valid request or came too late. `seen` is the part that was received, for the log.
    pub(super) fn refuse(
        &mut self,
        peer: Peer,
        (status, body_use): (Status, BodyUse),
        seen: &[u8],
        context: &mut Context<'_, A::Message>,
    ) {
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
        if status == Status::METHOD_NOT_ALLOWED {
            // RFC 9110 section 15.5.6. No resource accepts the method, and here it is not known which one was meant.
            reply.prepared_fields(b"Allow: ");
            reply.prepared_fields(Method::LIST.as_bytes());
            reply.prepared_fields(b"\r\n");
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
            log.write(&AccessLine::of_refused(peer, seen, status, body_bytes, context.now));
        }
        self.parts.body = body;
    }
}
