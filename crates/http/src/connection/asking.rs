//! A request for which the application is called more than once: it waits, or its answer is sent in
//! parts.
//!
//! Owns the steps from one call to the next, and the meaning of an end before the last one. Never
//! writes a reply.

use runtime::service::{CloseReason, Context, Next, Progress};
use wire::http::head::{self, FieldSlots, Head};
use wire::http::status::Status;

use super::{Connection, NEEDS_MORE, Phase};
use crate::application::Application;
use crate::framing::StreamFraming;
use crate::pending::{BodyRest, Pending};
use crate::shared::Http;

impl Connection {
    /// Asks the application about a kept request.
    pub(super) fn ask_pending<A: Application>(
        &mut self,
        http: &mut Http<A>,
        consumed: usize,
        available: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let Some(pending) = self.pending.take() else { return NEEDS_MORE };
        let mut slots = FieldSlots::new();
        let Ok(Head::Complete { request, .. }) =
            head::parse(&pending.head, &http.settings().head, &mut slots)
        else {
            // The limit was lowered by a reload meanwhile: the request no longer fits.
            self.pending = Some(pending);
            let status = Status::REQUEST_HEADER_FIELDS_TOO_LARGE;
            return self.give_up(http, status, available, context);
        };
        let asked = self.asked(&request, &pending.body);
        let start = context.output.buffer().len();
        let next = match (pending.begun, pending.rest) {
            (Some(begun), _) => http.go_on(&asked, &pending.head, begun, context),
            (None, BodyRest::Read) => http.answer(&asked, &pending.head, context),
            (None, BodyRest::Unread) => http.answer_and_close(&asked, &pending.head, context),
        };
        if next != Next::Park || http.begun.is_some() {
            // Something was written.
            self.omit_lead(start, context);
        }
        if next == Next::Park {
            self.ask_later(pending, http, context);
            return Progress { consumed, next };
        }
        if pending.rest == BodyRest::Unread {
            return self.after_unread(http, next, &[], available, context);
        }
        self.after_answer(http, next, &[], consumed, available, context)
    }

    /// Keeps a request whose answer is not complete. After a part, the application is asked again when the part has been sent, or
    /// in the next turn if there was nothing to send.
    pub(super) fn ask_later<A: Application>(
        &mut self,
        mut pending: Box<Pending>,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) {
        let begun = http.begun.take();
        let has_part = begun.is_some();
        pending.begun = begun.or(pending.begun);
        self.pending = Some(pending);
        self.wait(http, context);
        if has_part && context.output.is_empty() {
            http.note_taken(context.id);
        } else if has_part {
            self.phase = Phase::Sending;
        }
    }

    /// Waits until the application has to be asked again.
    pub(super) fn wait<A: Application>(
        &mut self,
        http: &Http<A>,
        context: &mut Context<'_, A::Message>,
    ) {
        self.phase = Phase::Waiting;
        context.set_deadline_after_ms(http.settings().answer_deadline_ms);
    }

    /// Ends a request that waits: it is refused, or its answer is cut if it was begun.
    pub(super) fn give_up<A: Application>(
        &mut self,
        http: &mut Http<A>,
        status: Status,
        consumed: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let Some(pending) = &self.pending else { return NEEDS_MORE };
        let (body_use, begun) = (pending.body_use(), pending.begun);
        self.leave(http);
        let Some(begun) = begun else {
            return self.refuse_with(http, (status, body_use), &[], consumed, context);
        };
        self.phase = Phase::Over;
        Progress { consumed, next: StreamFraming::cut(begun.framing) }
    }

    /// Whether the application has to be asked again.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Sending)
    }

    /// The connection's process has ended: [`runtime::service::Service::on_close`].
    pub fn on_close<A: Application>(mut self, http: &mut Http<A>, reason: CloseReason) {
        if reason != CloseReason::Panicked {
            return self.leave(http);
        }
        // The application may have been asked about a request that was not kept, or not yet.
        let process = http.last;
        http.application_mut().on_gone(process);
        if let Some(pending) = self.pending.take()
            && let Some(begun) = pending.begun
        {
            http.note_cut(pending, begun, self.peer);
        }
    }

    /// The application will not be asked again about a request that waits.
    pub(super) fn leave<A: Application>(&mut self, http: &mut Http<A>) {
        self.leave_body(http);
        if !self.is_asking() {
            return;
        }
        let Some(pending) = self.pending.take() else { return };
        http.application_mut().on_gone(pending.process);
        if let Some(begun) = pending.begun {
            http.note_cut(pending, begun, self.peer);
        }
    }
}
