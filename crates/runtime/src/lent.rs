//! The buffers that a scheduler lends to its transports.
//!
//! Owns no meaning of their bytes: what is in them between two uses is nothing.

/// The buffers that a scheduler lends to its layers, one after the other.
#[derive(Default)]
pub(crate) struct Lent {
    /// Encoded bytes that are about to be sent.
    pub(crate) wire: Vec<u8>,
    /// Bytes of a file, or of several parts, that are about to be encoded.
    pub(crate) gathered: Vec<u8>,
    /// The decoded bytes of the last receive.
    plain: Vec<u8>,
}

impl Lent {
    /// Takes the buffer for decoded bytes, because more may be encoded while they are handled.
    pub(crate) fn take_plain(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.plain)
    }

    /// Puts it back.
    pub(crate) fn put_plain(&mut self, plain: Vec<u8>) {
        self.plain = plain;
    }
}
