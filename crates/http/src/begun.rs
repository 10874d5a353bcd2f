//! An answer of which parts were sent.
//!
//! Owns what is kept of it between two calls of the application, and when it is cut. Never writes.

use runtime::service::Next;
use wire::http::status::Status;

use super::encoder::Encoder;
use super::framing::StreamFraming;

/// An answer that was begun in an earlier call and is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    status: Status,
    body_bytes: u64,
    framing: Option<StreamFraming>,
    encoder: Encoder,
    /// When its first part was written, on the monotonic clock.
    first_ns: u64,
}

impl Begun {
    /// An answer with this status, of whose body so many bytes were written. Without a framing it has a length, or no
    /// body.
    pub(super) fn new(
        status: Status,
        body_bytes: u64,
        framing: Option<StreamFraming>,
        encoder: Encoder,
    ) -> Self {
        Self { status, body_bytes, framing, encoder, first_ns: 0 }
    }

    /// The same answer, whose first part was written at this time.
    pub(super) fn since(self, first_ns: u64) -> Self {
        Self { first_ns, ..self }
    }

    /// When its first part was written.
    pub(super) fn first_ns(&self) -> u64 {
        self.first_ns
    }

    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Bytes of its body that were written.
    pub(super) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// The framing of its parts.
    pub(super) fn framing(&self) -> Option<StreamFraming> {
        self.framing
    }

    /// The encoder that renders it.
    pub(super) fn encoder(&self) -> Encoder {
        self.encoder
    }

    /// Bytes that may be sent while it waits: see [`StreamFraming::idle_bytes`].
    pub(super) fn idle_bytes(&self) -> &'static [u8] {
        self.framing.map_or(b"", StreamFraming::idle_bytes)
    }

    /// How its connection ends if the rest does not come.
    pub(super) fn cut(&self) -> Next {
        StreamFraming::cut(self.framing)
    }
}
