//! JSON answers to channel requests, and answers to CORS preflight requests.
//!
//! Owns their fields.

use channels::{Findings, Member, Members};
use http::{Answer, FieldList};
use wire::http::head::HttpVersion;
use wire::http::status::Status;
use wire::websocket::{self, HandshakeProblem};

use super::{CHANNEL_METHODS, Refused};
use crate::origin::{Origin, write_origin};
use crate::site::exchange::{Exchange, allow, try_again_soon};

/// `{"members":"NAME","subscribers":3,"total":1,"users":[{"user":"ann","info":…}]}`. Subscribers whose token names no
/// user are not members.
pub(crate) fn members_object(name: &str, found: &Findings) -> String {
    let json = |text: &str| serde_json::Value::String(text.to_owned());
    let subscribers: u64 = found.counts.iter().map(|(_, subscribers)| subscribers).sum();
    let Members { total, some } = &found.members;
    let mut text = format!(
        "{{\"members\":{},\"subscribers\":{subscribers},\"total\":{total},\"users\":[",
        json(name)
    );
    for (number, Member { user, info }) in some.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        text.push_str(&format!("{comma}{{\"user\":{}", json(user)));
        if let Some(info) = info {
            text.push_str(&format!(",\"info\":{info}"));
        }
        text.push('}');
    }
    text.push_str("]}");
    text
}

/// A browser asks whether a page of another site may send a request (Fetch, section 4.8).
pub(super) fn answer_preflight(origin: &Origin<'_>, exchange: &mut Exchange<'_, '_>) -> Answer {
    exchange.reply.begin(Status::NO_CONTENT);
    exchange.configured_fields();
    write_origin(origin, exchange.reply);
    exchange.reply.fields(allow(CHANNEL_METHODS).fields());
    if matches!(origin, Origin::Allowed(_)) {
        let fields = FieldList::of(&[
            ("Access-Control-Allow-Methods", "GET, POST"),
            ("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID"),
            ("Access-Control-Max-Age", "600"),
        ]);
        exchange.reply.fields(fields.fields());
    }
    exchange.reply.end_head();
    Answer::Done
}

pub(in crate::site) fn answer_handshake_problem(
    problem: HandshakeProblem,
    origin: &Origin<'_>,
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    let (status, text) = match problem {
        // RFC 9220 section 3.
        HandshakeProblem::NotAsked if exchange.request.version() == HttpVersion::Http2 => {
            (Status::NOT_IMPLEMENTED, "the protocol is not websocket")
        }
        HandshakeProblem::NotAsked => (Status::BAD_REQUEST, "Upgrade is not websocket"),
        HandshakeProblem::Version => (Status::UPGRADE_REQUIRED, "Sec-WebSocket-Version is not 13"),
        HandshakeProblem::Key => {
            (Status::BAD_REQUEST, "Sec-WebSocket-Key is not 16 bytes in base64")
        }
    };
    answer_json(status, &format!("{{\"error\":\"{text}\"}}"), origin, exchange)
}

pub(super) fn refuse(
    refused: &Refused,
    origin: &Origin<'_>,
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    let text = serde_json::Value::String(refused.text());
    let text = format!("{{\"error\":{text}}}");
    answer_with((refused.status(), refused.challenge()), &text, origin, exchange)
}

pub(super) fn answer_json(
    status: Status,
    text: &str,
    origin: &Origin<'_>,
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    answer_with((status, None), text, origin, exchange)
}

fn answer_with(
    (status, challenge): (Status, Option<&str>),
    text: &str,
    origin: &Origin<'_>,
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    exchange.reply.begin(status);
    exchange.configured_fields_but(|field| field.eq_ignore_ascii_case("cache-control"));
    write_origin(origin, exchange.reply);
    if status == Status::UPGRADE_REQUIRED {
        // RFC 9110 section 15.5.22 and RFC 6455 section 4.4.
        let _valid = exchange.reply.field("Upgrade", b"websocket");
        let _valid =
            exchange.reply.field("Sec-WebSocket-Version", websocket::SUPPORTED_VERSION.as_bytes());
    }
    if matches!(status, Status::SERVICE_UNAVAILABLE | Status::TOO_MANY_REQUESTS) {
        exchange.reply.fields(try_again_soon().fields());
    }
    if let Some(challenge) = challenge {
        let _valid = exchange.reply.field("WWW-Authenticate", challenge.as_bytes());
    }
    let _valid = exchange.reply.field("Content-Type", b"application/json");
    let _valid = exchange.reply.field("Cache-Control", b"no-store");
    exchange.reply.end_head_with_length(text.len() as u64);
    exchange.reply.body(text.as_bytes());
    Answer::Done
}
