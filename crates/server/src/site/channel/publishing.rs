//! Publishes messages sent by POST.
//!
//! Owns the type of a body, which its media type determines.

use channels::{
    ChannelScope, Offer, Payload, PayloadType, PublishOutcome, PublishReceipt, Published,
    Publisher, Rights, Sender, check_name,
};
use config::route::FoundRoute;
use http::{Answer, BodyPolicy, Request};
use pages::{MessageValue, RequestedAction};
use wire::http::method::Method;
use wire::http::status::Status;

use super::answers::{answer_json, refuse};
use super::{Refused, channel_in};
use crate::limits::PROGRAM_BODY_SIZE;
use crate::message::AnswerContext;
use crate::origin::Origin;
use crate::site::Site;
use crate::site::asking::Withheld;
use crate::site::exchange::Exchange;
use crate::site::orders::check_key;

impl Site {
    /// The body of a message is collected.
    pub(in crate::site) fn channel_body_policy(
        &self,
        path: &str,
        request: &Request<'_>,
    ) -> BodyPolicy {
        if request.method() != Method::Post {
            return BodyPolicy::Ignore;
        }
        let limit = match channel_in(path) {
            // Orders of a program. The orders of a client that is not a program are not read.
            "" if self.is_program(request) => PROGRAM_BODY_SIZE,
            "" => return BodyPolicy::Ignore,
            _ => config::limits::CHANNEL_MESSAGE_SIZE_MAX,
        };
        BodyPolicy::Collect { limit }
    }

    pub(super) fn answer_publish(
        &mut self,
        asked: (&str, Option<&[u8]>),
        rights: &Rights,
        origin: &Origin<'_>,
        (exchange, found): (&mut Exchange<'_, '_>, &FoundRoute<'_>),
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let outcome = self.local.channels().outcome(context.id);
        let result = match outcome {
            PublishOutcome::Awaited => return Answer::Wait,
            PublishOutcome::Known(result) => result.map_err(Refused::Rules),
            PublishOutcome::None => {
                match self.publish(asked, rights, (exchange.request, found), context) {
                    Ok(Some(published)) => Ok(published),
                    Ok(None) => return Answer::Wait,
                    Err(refused) => Err(refused),
                }
            }
        };
        match result {
            Ok(published) => {
                answer_json(Status::OK, &published_object(published), origin, exchange)
            }
            Err(refused) => refuse(&refused, origin, exchange),
        }
    }

    fn publish(
        &mut self,
        (name, query): (&str, Option<&[u8]>),
        rights: &Rights,
        (request, found): (&Request<'_>, &FoundRoute<'_>),
        context: &AnswerContext<'_>,
    ) -> Result<Option<Published>, Refused> {
        check_name(name.as_bytes()).map_err(Refused::Name)?;
        let sender = Sender { rights, address: Some(request.peer.address) };
        let ruling = self.local.channels().may_publish(name, ChannelScope::Configured, sender);
        let ruling = ruling.map_err(Refused::Rules)?;
        let media = request.field("content-type").unwrap_or_default();
        let media = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let body = if media.eq_ignore_ascii_case(b"application/json") {
            Payload::of_json(request.body).map_err(|problem| Refused::Json(problem.to_string()))?
        } else if media.eq_ignore_ascii_case(b"application/octet-stream") {
            Payload::of_binary(request.body)
        } else {
            Payload::of_bytes(request.body)
        };
        let decided = ruling.decide(|rule| {
            let (channel, wish) = ((name, rule, query), wish_of(&body));
            self.ask_about(channel, wish, rights, (request, found), context)
        });
        let right = match decided {
            Ok(right) => right,
            Err(Withheld::Refused(veto)) => return Err(Refused::Module(veto)),
            Err(Withheld::Undecided) => return Ok(None),
        };
        let key = match request.field("idempotency-key") {
            Some(key) => Some(check_key(key).map_err(Refused::Key)?),
            None => None,
        };
        let publisher = Publisher { process: context.id, told: PublishReceipt::ByResuming };
        let now_ms = context.now.monotonic_ms();
        let published = self.publish_in_order(&right, Offer { body, key }, Some(publisher), now_ms);
        published.map_err(Refused::Rules)
    }
}

/// The wish of a client that publishes this.
pub(crate) fn wish_of(body: &Payload) -> RequestedAction<'_> {
    let value =
        if body.kind() == PayloadType::Json { MessageValue::Json } else { MessageValue::Text };
    RequestedAction::Publish { message: body.bytes(), value }
}

/// `{"since":"POSITION","receivers":3}`.
pub(super) fn published_object(Published { position, receivers }: Published) -> String {
    format!("{{\"since\":\"{position}\",\"receivers\":{receivers}}}")
}
