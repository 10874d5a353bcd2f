//! Answers of the connection itself: to input that is no request, or came too late.
//!
//! Owns that such an answer is the last one. Never writes it; `answering` does.

use runtime::service::Context;
use wire::http::status::Status;

use super::{Connection, Phase};
use crate::application::Application;
use crate::refused::Refused;
use crate::shared::Http;

impl Connection {
    /// Refuses input that is not a valid request or came too late. The log gets the first bytes of it.
    pub(super) fn refuse<A: Application>(
        &mut self,
        http: &mut Http<A>,
        status: Status,
        seen: &[u8],
        context: &mut Context<'_, A::Message>,
    ) {
        self.phase = Phase::Over;
        http.refuse(Refused::input(status, self.arrival.peer, seen), context);
    }
}
