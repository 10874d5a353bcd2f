//! From a request to the application and back to what carries it.
//!
//! Owns what all answers have in common: how the application is called, how answers are counted and
//! logged, and what they mean for the connection or stream. Never decides the answer.

use runtime::clock::Now;
use runtime::output::FileRegion;
use runtime::service::{CloseReason, Context, Next, SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use runtime::trace;
use sys::socket::Peer;
use wire::http::head::HttpVersion;
use wire::http::method::Method;
use wire::http::status::Status;

use super::Http;
use crate::answer_context::AnswerContext;
use crate::application::{Answer, Application};
use crate::asked::{Asked, BodyRest, Way};
use crate::begun::Begun;
use crate::encoder::{Behind, Encoder, Persistence};
use crate::framing::StreamFraming;
use crate::log::AccessLine;
use crate::notes::{Notes, TimedAs};
use crate::refused::Refused;
use crate::reply::{BodyUse, Reply};
use crate::request::Request;
use crate::sent::SentAnswer;
use crate::traced;
use crate::unanswered::{Ended, Unanswered};

/// The status of a request without an answer, in the log and the counters.
pub(crate) const NO_ANSWER: Status = match Status::from_code(444) {
    Some(status) => status,
    None => Status::BAD_REQUEST,
};

impl<A: Application> Http<A> {
    /// Starts an event of a connection: notes its process, and the second for the `Date` of its replies.
    #[inline]
    pub(crate) fn begin_event(&mut self, context: &Context<'_, A::Message>) {
        self.last = context.id;
        self.parts.set_second(context.now.unix_seconds);
    }

    /// Asks the application something about a request that has no reply yet.
    pub(crate) fn ask<T>(
        &mut self,
        context: &mut Context<'_, A::Message>,
        question: impl FnOnce(&mut A, &mut AnswerContext<'_, A::Message>) -> T,
    ) -> T {
        let (notes, kept) = (&mut self.notes, &mut self.kept);
        let mut context = AnswerContext::new(context.id, context.now, context.mail, notes, kept);
        question(&mut self.application, &mut context)
    }

    /// A file that a connection is sending is not in memory: [`runtime::service::Service::on_cold_file`].
    pub fn warm(&mut self, region: &FileRegion, context: &mut Context<'_, A::Message>) -> bool {
        self.begin_event(context);
        self.application.on_cold_file(region, context)
    }

    /// The encoder of the reply to a request.
    #[inline(always)]
    fn encoder_of(&self, asked: &Asked<'_>, context: &Context<'_, A::Message>) -> Encoder {
        let Way::Connection { number } = asked.way() else {
            let behind = match asked.head().upgrade {
                None => Behind::Body,
                Some(_) if context.is_draining() => Behind::NoProtocol,
                Some(_) => Behind::Protocol,
            };
            return Encoder::Blocks { behind };
        };
        let full = self.settings.requests_per_connection.is_some_and(|most| number >= most);
        let version = asked.request().version();
        let persistence = if asked.rest() == BodyRest::Unread
            || !asked.head().persistent
            || full
            || context.is_draining()
        {
            Persistence::Closed
        } else if version == HttpVersion::Http10 {
            Persistence::KeptAlive
        } else {
            Persistence::Kept
        };
        Encoder::Text { version, persistence }
    }

    /// Asks the application for the answer, or for the rest of one that was begun. Returns what follows: `Park` if
    /// nothing was written ([`Answer::Wait`]) or only a part (then `begun` describes it), `Linger` or `Abort` if the
    /// rest will not come.
    #[inline(always)]
    pub(crate) fn answer(
        &mut self,
        asked: &Asked<'_>,
        begun: Option<Begun>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        let request = asked.request();
        let body_use = BodyUse::of_method(request.method());
        let encoder = match begun {
            Some(begun) => begun.encoder(),
            None => self.encoder_of(asked, context),
        };
        self.clear_notes();
        let mut reply = Reply::new(context.output, &mut self.parts, body_use, encoder, begun);
        let (notes, kept) = (&mut self.notes, &mut self.kept);
        let mut answer_context =
            AnswerContext::new(context.id, context.now, context.mail, notes, kept);
        let answer = self.application.on_request(request, &mut reply, &mut answer_context);
        if asked.mistakes(answer, &reply) {
            return self.refuse_protocol(asked, answer, context);
        }
        match answer {
            Answer::Wait => {
                self.stats.waited += 1;
                if trace::is_noting() {
                    traced::wait(context.id);
                }
                return Next::Park;
            }
            Answer::Part => {
                if let Some(new) = reply.begun() {
                    let first_ns = begun.map_or(context.now.monotonic_ns, |begun| begun.first_ns());
                    self.begun = Some(new.since(first_ns));
                    if trace::is_noting() {
                        traced::part(context.id);
                    }
                    return Next::Park;
                }
            }
            Answer::Drop if !reply.is_begun() => {
                return self.drop_request(asked, context);
            }
            Answer::Done | Answer::Upgrade | Answer::Cut | Answer::Drop => {}
        }
        let was_silent = !reply.is_begun();
        if was_silent {
            // The application said done but wrote nothing. That is its mistake, and the client must not hang because of
            // it.
            reply.empty(Status::INTERNAL_SERVER_ERROR);
        }
        if answer == Answer::Done && reply.framing().is_some() {
            reply.end_parts();
        }
        let status = reply.status().unwrap_or(Status::INTERNAL_SERVER_ERROR);
        let (encoder, body_bytes, framing) = (reply.encoder(), reply.body_bytes(), reply.framing());
        let sent = if body_use == BodyUse::Omit { 0 } else { body_bytes };
        self.count_answer(request, SentAnswer { status, body_bytes: sent }, begun, context);
        match answer {
            Answer::Cut | Answer::Drop if was_silent => Next::Finish,
            Answer::Cut | Answer::Drop if asked.way() == Way::Stream => Next::Abort,
            Answer::Cut | Answer::Drop => StreamFraming::cut(framing),
            Answer::Upgrade if matches!(status, Status::SWITCHING_PROTOCOLS | Status::OK) => {
                Next::Changed
            }
            _ if encoder.is_last() => Next::Finish,
            _ => Next::Read,
        }
    }

    /// A request is answered with a status and so many bytes of a body.
    #[inline]
    fn count_answer(
        &mut self,
        request: &Request<'_>,
        sent: SentAnswer,
        begun: Option<Begun>,
        context: &Context<'_, A::Message>,
    ) {
        let (class, TimedAs { route, page }) = (self.stats.count(sent.status), self.notes.timed_as);
        let ticks = self.times.count(class, route, request.begin.began_ns(), context.now);
        let is_told = self.log.is_some()
            || self.settings.slow_ns.is_some()
            || page != 0
            || trace::is_noting();
        if is_told || self.kept.is_some() {
            self.tell_answer(request, sent, begun, ticks, context);
        }
    }

    /// The rest of it, which many servers do without.
    #[inline(never)]
    fn tell_answer(
        &mut self,
        request: &Request<'_>,
        sent: SentAnswer,
        begun: Option<Begun>,
        ticks: u64,
        context: &Context<'_, A::Message>,
    ) {
        self.times.count_page(self.notes.timed_as, ticks);
        self.tell_slow(request, context.id, sent.status, ticks);
        self.drop_kept();
        self.write_line(request, sent, begun, context.now);
        if trace::is_noting() {
            traced::answer(context.id, sent.status, sent.body_bytes);
        }
    }

    /// Writes the line of a request that was answered with a status and so many bytes of a body.
    #[inline]
    fn write_line(
        &mut self,
        request: &Request<'_>,
        sent: SentAnswer,
        begun: Option<Begun>,
        now: Now,
    ) {
        if let Some(log) = &mut self.log
            && !self.notes.is_omitted()
        {
            let first_ns = begun.map_or(now.monotonic_ns, |begun| begun.first_ns());
            log.write(&AccessLine::of(request, sent, Some(first_ns), now, &self.notes));
        }
    }

    /// Ends a connection whose request gets no answer.
    #[cold]
    fn drop_request(&mut self, asked: &Asked<'_>, context: &Context<'_, A::Message>) -> Next {
        self.stats.count(NO_ANSWER);
        self.drop_kept();
        let nothing = SentAnswer { status: NO_ANSWER, body_bytes: 0 };
        self.write_line(asked.request(), nothing, None, context.now);
        if trace::is_noting() {
            traced::unanswered(context.id, 0);
        }
        if asked.way() == Way::Stream { Next::Abort } else { Next::Finish }
    }

    /// [`answer`](Self::answer) without inlining, where the size of the code matters more than the time of a call.
    #[inline(never)]
    pub(crate) fn answer_out_of_line(
        &mut self,
        asked: &Asked<'_>,
        begun: Option<Begun>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        self.answer(asked, begun, context)
    }

    /// The value that an application keeps is for this request alone.
    #[inline]
    pub(crate) fn drop_kept(&mut self) {
        if self.kept.is_some() {
            self.kept = None;
        }
    }

    /// If the process that ran last has panicked, the application was perhaps asked about a request that was not
    /// kept, or not yet.
    pub(crate) fn on_panic(&mut self, reason: CloseReason) {
        if reason == CloseReason::Panicked {
            self.drop_kept();
            let process = self.last;
            self.application.on_gone(process);
        }
    }

    /// The client has read a part of an answer. The next part is requested after other processes have run.
    pub(crate) fn note_taken(&mut self, process: ProcessId) {
        self.taken.push(process);
    }

    /// A part of an answer was written by a process that reads. It is told in the next turn, as if it had waited.
    pub(crate) fn note_written(&mut self, process: ProcessId) {
        self.written.push(process);
    }

    /// Begins the notes on another request.
    #[inline]
    fn clear_notes(&mut self) {
        self.notes.timed_as = TimedAs::default();
        if self.log.is_some() || self.settings.slow_ns.is_some() {
            self.notes.clear_for_line();
        }
    }

    /// Tells the application that a request ends without it, of whose answer so many bytes were sent. Afterwards the
    /// notes are those of the request.
    pub(crate) fn tell_unanswered(&mut self, process: ProcessId, request: &Request<'_>, sent: u64) {
        self.clear_notes();
        let (notes, kept) = (&mut self.notes, &mut self.kept);
        self.application.on_unanswered(request, Unanswered::new(process, sent, notes, kept));
        self.drop_kept();
        if trace::is_noting() {
            traced::unanswered(process, sent);
        }
        self.application.on_gone(process);
    }

    /// The notes that were just made, if they are for a line.
    pub(crate) fn take_notes_of_line(&mut self) -> Option<Notes> {
        self.notes.take_for_line()
    }

    /// A request has ended without an answer, or the end of one. Logged at the end of the turn.
    pub(crate) fn note_ended(&mut self, ended: Ended) {
        self.ended.push(ended);
    }

    /// At the end of a turn, logs requests without an answer, and resumes processes whose client has read a part. For a
    /// service that contains this one.
    pub fn settle(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        if self.taken.is_empty() && self.ended.is_empty() && self.written.is_empty() {
            return;
        }
        for process in self.written.drain(..) {
            context.command(SchedulerCommand::Run(process));
        }
        for process in self.taken.drain(..) {
            context.command(SchedulerCommand::Resume(process));
        }
        for ended in std::mem::take(&mut self.ended) {
            if let Some(log) = &mut self.log {
                ended.log(log, context.now);
            }
        }
    }

    /// A request on a stream is malformed: its stream ends without an answer (RFC 9113, 8.1.1), which is counted and
    /// logged as 400.
    pub(crate) fn note_malformed(&mut self, peer: Peer, seen: &[u8], now: Now) {
        let status = Status::BAD_REQUEST;
        self.stats.refused += 1;
        self.stats.count(status);
        self.clear_notes();
        if let Some(log) = &mut self.log {
            let sent = SentAnswer { status, body_bytes: 0 };
            log.write(&AccessLine::of_refused(peer, seen, sent, now, &self.notes));
        }
    }

    /// Writes the reply to something that is no valid request or came too late.
    pub(crate) fn refuse(&mut self, refused: Refused<'_>, context: &mut Context<'_, A::Message>) {
        let (status, body_use, encoder) = (refused.status(), refused.body_use(), refused.encoder());
        self.stats.refused += 1;
        let class = self.stats.count(status);
        if trace::is_noting() {
            traced::refuse(context.id, status);
        }
        match refused.asked_request() {
            Some(request) => self.tell_unanswered(context.id, request, 0),
            None => self.clear_notes(),
        }
        if let Some(request) = refused.request() {
            let (began_ns, timed_as) = (request.begin.began_ns(), self.notes.timed_as);
            let ticks = self.times.count(class, timed_as.route, began_ns, context.now);
            self.times.count_page(timed_as, ticks);
        }
        if let Some(request) = refused.asked_request() {
            self.tell_slow_end(request, context.id, status);
        }
        let mut body = self.parts.lend_body();
        let content_type = self.application.error_page(status, &mut body);
        let mut reply = Reply::new(context.output, &mut self.parts, body_use, encoder, None);
        reply.begin(status);
        if status == Status::SERVICE_UNAVAILABLE {
            reply.put("Retry-After", b"1");
        }
        if status == Status::METHOD_NOT_ALLOWED {
            // RFC 9110 section 15.5.6. No resource accepts the method, and here it is not known which one was meant.
            reply.put("Allow", Method::LIST.as_bytes());
        }
        reply.put("Content-Type", content_type.as_bytes());
        reply.end_head_with_length(body.len() as u64);
        reply.body(&body);
        if let Some(log) = &mut self.log
            && !self.notes.is_omitted()
        {
            let body_bytes = if body_use == BodyUse::Omit { 0 } else { body.len() as u64 };
            let sent = SentAnswer { status, body_bytes };
            log.write(&refused.line(sent, context.now, &self.notes));
        }
        self.parts.return_body(body);
    }
}
