//! A block of fields that comes in several frames (RFC 9113, 4.3).
//!
//! Owns its bytes until it is whole, within bounds, and its use. Never decodes it.

use wire::h2::{AfterHead, ErrorCode};

use crate::limits::{H2_BLOCK_BYTES, H2_CONTINUATIONS};

/// The use of a block of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockUse {
    /// It begins a stream.
    Request(AfterHead),
    /// It ends the content of one.
    Trailers,
    /// None: it is decoded, and then the stream is reset if there is a code.
    Dropped(Option<ErrorCode>),
}

/// A part of a block of fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'f> {
    pub(super) bytes: &'f [u8],
    /// Whether the block is whole with it.
    pub(super) is_last: bool,
}

/// A block that is incomplete.
#[derive(Debug)]
pub(super) struct Block {
    stream: u32,
    purpose: BlockUse,
    bytes: Vec<u8>,
    continuations: usize,
}

/// More came than a block may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockTooLarge;

impl Block {
    /// The block of a stream with its first part.
    pub(super) fn new(stream: u32, purpose: BlockUse, first: &[u8]) -> Self {
        Self { stream, purpose, bytes: first.to_vec(), continuations: 0 }
    }

    /// Its stream.
    pub(super) fn stream(&self) -> u32 {
        self.stream
    }

    /// Adds a part.
    pub(super) fn add(&mut self, part: &[u8]) -> Result<(), BlockTooLarge> {
        self.continuations += 1;
        if self.continuations > H2_CONTINUATIONS || self.bytes.len() + part.len() > H2_BLOCK_BYTES {
            return Err(BlockTooLarge);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The block, which is whole, and its use.
    pub(super) fn finish(self) -> (BlockUse, Vec<u8>) {
        (self.purpose, self.bytes)
    }

    /// Bytes of memory that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
