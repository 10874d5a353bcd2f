//! The last block all of whose fields the peer had: one index each.
//!
//! Owns the block, and that of which it was written. Answers of a server often have the same head as the last one,
//! which is then compared and copied, not searched for field by field. Never judges a field.

use crate::limits::HPACK_REPEATED_BYTES;

/// A block to write again. Plain data.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    source: Vec<u8>,
    block: Vec<u8>,
}

impl Repeated {
    /// The block that was written of this.
    #[inline]
    pub(super) fn of(&self, source: &[u8]) -> Option<&[u8]> {
        (!self.block.is_empty() && self.source == source).then_some(self.block.as_slice())
    }

    /// A block of so many fields was written of this. An index is one byte here, and a literal is longer.
    #[inline]
    pub(super) fn note(&mut self, source: &[u8], fields: usize, block: &[u8]) {
        if block.len() == fields && source.len() <= HPACK_REPEATED_BYTES {
            self.source.clear();
            self.source.extend_from_slice(source);
            self.block.clear();
            self.block.extend_from_slice(block);
        }
    }

    /// Indices mean other fields from now on.
    pub(super) fn forget(&mut self) {
        self.block.clear();
    }

    /// Bytes of memory that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.source.capacity() + self.block.capacity()
    }
}
