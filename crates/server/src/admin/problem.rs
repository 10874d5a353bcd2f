//! The answer to a question that is not understood, or not answered.
//!
//! Owns its form: 400 or another status, and one line that names the word and what may stand in its place.

use http::Reply;
use wire::http::status::Status;

/// Says what is wrong with a request.
pub(super) fn say(problem: &str, reply: &mut Reply<'_>) {
    say_with(Status::BAD_REQUEST, problem, reply);
}

/// Says why a request that is understood is not carried out.
pub(super) fn say_with(status: Status, problem: &str, reply: &mut Reply<'_>) {
    reply.send(status, "text/plain; charset=utf-8", problem.as_bytes());
}
