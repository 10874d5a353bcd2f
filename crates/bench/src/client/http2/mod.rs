//! HTTP/2 as the generator speaks it (RFC 9113): many requests at once on one connection.
//!
//! Owns the connection of a client. Its windows for the server are so large that the server never waits for one. Never
//! counts an outcome in another way than HTTP/1.1 does.

mod answers;
mod asks;
mod frames;
mod request;
mod stream;
mod streams;

pub(super) use request::StreamRequest;
pub(super) use streams::Streams;

/// Why a connection cannot go on.
type Broken = &'static str;

/// A connection while its frames are read. Plain data.
pub(crate) struct Reading<'r> {
    pub(crate) connection: &'r mut super::LoadConnection,
    pub(crate) streams: &'r mut Streams,
    pub(crate) out: &'r mut Vec<u8>,
}
