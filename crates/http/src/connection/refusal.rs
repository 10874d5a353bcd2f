//! Answers of the connection itself: to invalid, late or unanswerable requests.
//!
//! Owns what such an answer means for the connection: it is the last one. Never writes it;
//! `answering` does.

use runtime::service::{Context, Next, Progress};
use wire::http::status::Status;

use super::{Connection, Phase};
use crate::application::Application;
use crate::reply::BodyUse;
use crate::shared::Http;

impl Connection {
    /// Refuses input that is not a valid request or came too late, and closes. The log gets the first bytes of it.
    pub(super) fn refuse<A: Application>(
        &mut self,
        http: &mut Http<A>,
        status: Status,
        seen: &[u8],
        consumed: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let body_use = self.pending.as_ref().map_or(BodyUse::Send, |pending| pending.body_use());
        self.refuse_with(http, (status, body_use), seen, consumed, context)
    }

    /// The same, for a request of which it is known whether the answer has a body.
    pub(super) fn refuse_with<A: Application>(
        &mut self,
        http: &mut Http<A>,
        (status, body_use): (Status, BodyUse),
        seen: &[u8],
        consumed: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        self.leave_body(http);
        let pending = self.pending.take();
        let seen = pending.as_ref().map_or(seen, |pending| &pending.head);
        self.phase = Phase::Over;
        let start = context.output.buffer().len();
        http.refuse(self.peer, (status, body_use), seen, context);
        self.omit_lead(start, context);
        Progress { consumed, next: Next::Linger }
    }

    /// Refuses a request that took too long.
    pub(super) fn time_out<A: Application>(
        &mut self,
        http: &mut Http<A>,
        status: Status,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        self.refuse(http, status, &[], 0, context).next
    }
}
