//! The buffers that a scheduler lends to its transports.
//!
//! Owns no meaning of their bytes: what is in them between two uses is nothing.

/// The buffers that a scheduler lends to its layers, one after the other.
#[derive(Default)]
pub(crate) struct Lent {
    /// Encoded bytes that are about to be sent.
    pub(crate) wire: Vec<u8>,
    /// Bytes of a file, or of several parts, that are about to be encoded.
    pub(crate) plain: Vec<u8>,
}
