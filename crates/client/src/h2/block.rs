//! A block of fields that comes in several frames (RFC 9113, 4.3).
//!
//! Owns its bytes until it is whole, within bounds. Never decodes it.

use wire::h2::AfterFrame;

use crate::limits::{BLOCK_BYTES, CONTINUATIONS};

/// More came than a block may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockTooLarge;

/// A block of fields, or its beginning.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) stream: u32,
    pub(crate) after: AfterFrame,
    bytes: Vec<u8>,
    continuations: usize,
}

impl Block {
    /// The first part of a block.
    pub(crate) fn new(stream: u32, after: AfterFrame, first: &[u8]) -> Self {
        Self { stream, after, bytes: first.to_vec(), continuations: 0 }
    }

    /// Adds a part.
    pub(crate) fn add(&mut self, part: &[u8]) -> Result<(), BlockTooLarge> {
        self.continuations += 1;
        if self.continuations > CONTINUATIONS || self.bytes.len() + part.len() > BLOCK_BYTES {
            return Err(BlockTooLarge);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The parts so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
