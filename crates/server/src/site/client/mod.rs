//! The client for browsers: a script, and its types.
//!
//! Owns these two answers, which exist if there are channels.

use http::Answer;
use wire::http::method::Method;
use wire::http::status::Status;

use super::exchange::Exchange;

/// The paths, their media types and their content.
const FILES: [(&str, &str, &str); 2] = [
    ("/velodrome.js", "text/javascript; charset=utf-8", include_str!("velodrome.js")),
    ("/velodrome.d.ts", "text/plain; charset=utf-8", include_str!("velodrome.d.ts")),
];

/// Whether a path is one of these.
pub(super) fn has(path: &str) -> bool {
    FILES.iter().any(|(known, ..)| *known == path)
}

/// Answers a request for one of these; `None` for other paths.
pub(super) fn answer(path: &str, exchange: &mut Exchange<'_, '_>) -> Option<Answer> {
    let (_, media_type, text) = FILES.iter().find(|(known, ..)| *known == path)?;
    if !matches!(exchange.request.method(), Method::Get | Method::Head) {
        return None;
    }
    exchange.reply.begin(Status::OK);
    exchange.configured_fields_but(|field| field.eq_ignore_ascii_case("content-type"));
    let _valid = exchange.reply.field("Content-Type", media_type.as_bytes());
    exchange.reply.end_head_with_length(text.len() as u64);
    exchange.reply.body(text.as_bytes());
    Some(Answer::Done)
}
