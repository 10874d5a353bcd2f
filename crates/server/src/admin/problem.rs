//! The answer to a question that is not understood.
//!
//! Owns its form: 400, and one line that names the word and what may stand in its place.

use http::Reply;
use wire::http::status::Status;

/// Says what is wrong with a request.
pub(super) fn say(problem: &str, reply: &mut Reply<'_>) {
    reply.send(Status::BAD_REQUEST, "text/plain; charset=utf-8", problem.as_bytes());
}
