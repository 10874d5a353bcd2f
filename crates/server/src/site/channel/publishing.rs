//! Messages that are published by POST.
//!
//! Owns what a body is: its media type says it.

use channels::{Body, Outcome, Published, Publisher, Rights, Told};
use http::{Answer, AnswerContext, BodyPolicy, Request};
use wire::http::method::Method;
use wire::http::status::Status;

use super::Refused;
use super::answers::{answer_json, refuse};
use crate::message::Message;
use crate::site::exchange::Exchange;
use crate::site::origin::Origin;
use crate::site::state::Site;

impl Site {
    /// The body of a message is collected.
    pub(in crate::site) fn channel_body_policy(&self, request: &Request<'_>) -> Option<BodyPolicy> {
        let is_published = request.method() == Method::Post
            && self.channel_of(request.path()).is_some_and(|name| !name.is_empty());
        is_published
            .then_some(BodyPolicy::Collect { limit: config::limits::CHANNEL_MESSAGE_SIZE_MAX })
    }

    pub(super) fn answer_publish(
        &mut self,
        name: &str,
        rights: &Rights,
        origin: &Origin<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let result = match self.channels.outcome(context.id) {
            Outcome::Awaited => return Answer::Wait,
            Outcome::Known(result) => result.map_err(Refused::Rules),
            Outcome::None => match self.publish(name, rights, exchange.request, context) {
                Ok(Some(published)) => Ok(published),
                Ok(None) => return Answer::Wait,
                Err(refused) => Err(refused),
            },
        };
        match result {
            Ok(Published { position, receivers }) => {
                let told = format!("{{\"since\":\"{position}\",\"receivers\":{receivers}}}");
                answer_json(Status::OK, &told, origin, exchange)
            }
            Err(refused) => refuse(&refused, origin, exchange),
        }
    }

    fn publish(
        &mut self,
        name: &str,
        rights: &Rights,
        request: &Request<'_>,
        context: &AnswerContext<'_, Message>,
    ) -> Result<Option<Published>, Refused> {
        self.check_channel(name)?;
        let media = request.field("content-type").unwrap_or_default();
        let media = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let body = if media.eq_ignore_ascii_case(b"application/json") {
            Body::of_json(request.body).map_err(|problem| Refused::Json(problem.to_string()))?
        } else if media.eq_ignore_ascii_case(b"application/octet-stream") {
            Body::of_binary(request.body)
        } else {
            Body::of_bytes(request.body)
        };
        let publisher = Publisher { process: context.id, told: Told::ByResuming };
        let now_ms = context.now.monotonic_ms();
        let published = self.channels.publish(name, body, rights, Some(publisher), now_ms);
        published.map_err(Refused::Rules)
    }
}
