//! HTTP/1.1 as RFC 9110 (semantics) and RFC 9112 (message syntax) define it.
//!
//! `head` -> `body` -> (the server answers) -> `response`, and `received` for who asked; beside them the semantics that
//! an answer depends on: `target`, `url`, `range`, `conditional`, `accept`, `encoding`, `date`.

pub mod accept;
pub mod body;
pub mod conditional;
pub mod date;
pub mod encoding;
pub mod fields;
pub mod forwarded;
pub mod head;
pub mod kept;
pub mod link;
pub mod method;
pub mod multipart;
pub mod range;
pub mod received;
pub mod refusal;
pub mod response;
mod spelling;
pub mod status;
pub mod target;
pub mod trace_context;
pub mod trailers;
pub mod url;
