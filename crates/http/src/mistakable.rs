//! An answer in HTTP that the client of a stream would take for one in another protocol, because it has asked for that
//! (RFC 8441 section 4).
//!
//! Owns that it does not go out. Never decides whether a protocol is accepted.

use runtime::service::{Context, Next};
use wire::http::status::Status;

use super::application::{Answer, Application};
use super::asked::Asked;
use super::refused::Refused;
use super::shared::Http;

impl<A: Application> Http<A> {
    /// Refuses the request (RFC 9220 section 3) in place of such an answer. What was written is the begin of this
    /// answer alone, because its stream has no other.
    #[cold]
    pub(super) fn refuse_protocol(
        &mut self,
        asked: &Asked<'_>,
        answer: Answer,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        context.output.clear();
        let (status, way) = (Status::NOT_IMPLEMENTED, asked.way());
        let refused = if answer.is_over() {
            self.drop_kept();
            Refused::unasked(status, way, asked.request())
        } else {
            Refused::asked(status, way, asked.request())
        };
        self.refuse(refused, context);
        Next::Finish
    }
}
