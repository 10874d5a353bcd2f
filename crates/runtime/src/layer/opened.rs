//! The result of a receive through a layer.
//!
//! Owns its cases. Never receives.

use sys::pollset::Rest;

use crate::transport::Violation;

/// The result of a receive through a layer. The decoded bytes are in the buffer that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// Plain bytes.
    Bytes(Rest),
    /// The handshake is over; perhaps there are plain bytes too.
    Agreed(Rest),
    /// No plain bytes yet, though something was received.
    Nothing(Rest),
    /// Nothing now.
    Blocked,
    /// The peer announced its end, and all bytes before it were delivered.
    End,
    /// The connection failed after the handshake.
    Failed(Violation),
    /// The handshake failed, or the peer refused what this side had agreed on.
    Refused(Violation),
}
