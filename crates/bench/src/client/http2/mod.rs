//! HTTP/2 as the generator speaks it (RFC 9113): many requests at once on one connection.
//!
//! Owns the steps of a client on a connection; its state is in `streams`. Its windows for the server are so large
//! that the server never waits for one. Never counts an outcome in another way than HTTP/1.1 does.

mod answers;
mod asks;
mod frames;

use super::LoadConnection;
use super::streams::Streams;

/// A connection while its frames are read. Plain data.
pub(crate) struct Reading<'r> {
    pub(crate) connection: &'r mut LoadConnection,
    pub(crate) streams: &'r mut Streams,
    pub(crate) out: &'r mut Vec<u8>,
}
