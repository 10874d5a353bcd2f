//! How the end of a body that is sent in parts is marked.
//!
//! Owns what that means for the end of the connection or stream. Never writes.

use runtime::service::Next;

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamFraming {
    /// By the last chunk.
    Chunked,
    /// By the end of the connection.
    UntilClose,
    /// By the length in the head.
    Counted,
    /// By the carrier of the stream.
    Carried,
    /// There is no body.
    Omitted,
}

impl StreamFraming {
    /// Whether trailers can stand behind the body.
    pub(super) fn takes_trailers(self) -> bool {
        matches!(self, Self::Chunked | Self::Carried)
    }

    /// Bytes that may be sent before anything that follows without changing it: the size of a chunk may begin with
    /// zeros (RFC 9112 section 7.1).
    pub(super) fn idle_bytes(self) -> &'static [u8] {
        match self {
            Self::Chunked => b"0",
            Self::UntilClose | Self::Counted | Self::Carried | Self::Omitted => b"",
        }
    }

    /// How to end a connection whose answer is cut, so that the client notices (RFC 9112 section 8): without the last
    /// chunk or the rest of the length; or, if closing marks the end of the body, by a reset instead.
    pub(super) fn cut(framing: Option<Self>) -> Next {
        match framing {
            Some(Self::UntilClose | Self::Carried) => Next::Abort,
            Some(Self::Chunked | Self::Counted | Self::Omitted) | None => Next::Linger,
        }
    }
}
