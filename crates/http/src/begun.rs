//! An answer of which parts were sent.
//!
//! Owns what is kept of it between two calls of the application, and when it is cut. Never writes.

use sys::socket::Peer;
use wire::http::kept::KeptHead;
use wire::http::status::Status;

use super::encoder::Encoder;
use super::framing::StreamFraming;

/// An answer that was begun in an earlier call and is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) status: Status,
    pub(super) body_bytes: u64,
    pub(super) framing: Option<StreamFraming>,
    pub(super) encoder: Encoder,
}

/// An answer that was cut off with its connection.
pub(super) struct CutShort {
    pub(super) head: KeptHead,
    pub(super) begun: Begun,
    pub(super) peer: Peer,
}
