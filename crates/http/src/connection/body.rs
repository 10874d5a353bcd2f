//! The body of a request: whether it is read, collected, or left unread.
//!
//! Owns the steps from a head that announces a body to the answer; `handover` handles bodies that
//! the application receives in pieces. Never interprets body bytes.

use runtime::service::{Context, Next, Progress};
use wire::http::body::{BodyDecoder, BodyLimits, Piece};
use wire::http::head::{self, Framing};
use wire::http::refusal::Refusal;
use wire::http::status::Status;

use super::{Connection, NEEDS_MORE, Phase};
use crate::application::{Application, BodyPolicy};
use crate::pending::{BodyRest, Pending};
use crate::reply::BodyUse;
use crate::shared::Http;

impl Connection {
    /// A head that announces a body: decides how the body is handled, then reads it.
    pub(super) fn begin_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        request: &head::Request<'_, '_>,
        input: &[u8],
        length: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let asked = self.asked(request, &[]);
        let policy = http.application_mut().body_policy(&asked.request);
        let limit = match policy {
            BodyPolicy::Collect { limit } | BodyPolicy::Stream { limit } => limit,
            BodyPolicy::Ignore => http.settings().unread_body_size,
        };
        let unread = policy == BodyPolicy::Ignore
            && (request.expects_continue
                || matches!(request.framing, Framing::Length(size) if size > limit));
        let head = &input[..length];
        if unread {
            // RFC 9110 section 10.1.1: a final answer instead of 100. The body is never read, so the connection closes.
            let next = http.answer_and_close(&asked, head, context);
            return self.after_unread(http, next, head, input.len(), context);
        }
        let limits = BodyLimits { body_size: limit, ..http.settings().body };
        let decoder = match BodyDecoder::new(request.framing, &limits) {
            Ok(decoder) => decoder,
            Err(refusal) => {
                let body_use = BodyUse::of_method(request.method);
                let told = (refusal.status(), body_use);
                return self.refuse_with(http, told, head, input.len(), context);
            }
        };
        if let BodyPolicy::Stream { .. } = policy {
            return self.begin_handover(http, request, decoder, (input, length), context);
        }
        if let Some(body) = whole_body(request.framing, &input[length..]) {
            let asked = self.asked(request, body);
            let next = http.answer(&asked, head, context);
            let consumed = length + body.len();
            let step = self.after_answer(http, next, head, consumed, input.len(), context);
            if let Some(pending) = &mut self.pending {
                pending.body = body.to_vec();
            }
            return step;
        }
        if request.expects_continue && input.len() == length {
            context.output.put(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let pending =
            Pending { decoder: Some(decoder), ..Pending::new(head, context.id, context.now) };
        self.pending = Some(Box::new(pending));
        self.phase = Phase::Body;
        context.set_deadline_after_ms(http.settings().body_idle_ms);
        Progress { consumed: length, next: Next::Read }
    }

    /// What follows an answer to a request whose body stays unread: the bytes after its head are never taken for
    /// a request, even if the answer has to wait.
    pub(super) fn after_unread<A: Application>(
        &mut self,
        http: &mut Http<A>,
        next: Next,
        head: &[u8],
        available: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let next = match next {
            Next::Park => {
                let pending = Pending::new(head, context.id, context.now);
                let pending = Box::new(Pending { rest: BodyRest::Unread, ..pending });
                self.ask_later(pending, http, context);
                return Progress { consumed: head.len(), next };
            }
            Next::Abort => next,
            // A request with a body that no handler reads is not upgraded. It is the last one of its connection.
            Next::Read | Next::Collect | Next::Finish | Next::Changed | Next::Linger => {
                Next::Linger
            }
        };
        self.phase = Phase::Over;
        Progress { consumed: available, next }
    }

    /// Decodes and keeps body bytes. At the end of the body, asks for the answer.
    pub(super) fn take_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let Some(pending) = &mut self.pending else {
            return Progress { consumed: 0, next: Next::Abort };
        };
        if pending.is_handed_over() {
            return self.hand_over_body(http, input, context);
        }
        let mut consumed = 0;
        let ended = loop {
            match pending.next_piece(input, &mut consumed) {
                Ok(Piece::Data(data)) => pending.body.extend_from_slice(data),
                Ok(Piece::NeedMore) => break Ok(false),
                Ok(Piece::End) => break Ok(true),
                Err(refusal) => break Err(refusal),
            }
        };
        pending.received += consumed as u64;
        self.after_body_bytes(http, ended, consumed, input.len(), context)
    }

    /// What follows body bytes that were read. `Ok(true)` if they were the last.
    pub(super) fn after_body_bytes<A: Application>(
        &mut self,
        http: &mut Http<A>,
        ended: Result<bool, Refusal>,
        consumed: usize,
        available: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let Some(pending) = &mut self.pending else { return NEEDS_MORE };
        match ended {
            Ok(true) => {
                pending.decoder = None;
                self.ask_pending(http, consumed, available, context)
            }
            Ok(false) => {
                let settings = http.settings();
                if pending.is_too_slow(
                    context.now.monotonic_ns,
                    settings.body_idle_ms,
                    settings.body_rate,
                ) {
                    http.stats_mut().body_timeouts += 1;
                    return self.refuse(http, Status::REQUEST_TIMEOUT, &[], available, context);
                }
                context.set_deadline_after_ms(settings.body_idle_ms);
                Progress { consumed, next: Next::Read }
            }
            Err(refusal) => self.refuse(http, refusal.status(), &[], available, context),
        }
    }
}

/// The body, if all of it is in the input already. It is lent without a copy.
fn whole_body(framing: Framing, input: &[u8]) -> Option<&[u8]> {
    match framing {
        Framing::Length(size) => input.get(..usize::try_from(size).ok()?),
        Framing::None | Framing::Chunked => None,
    }
}
