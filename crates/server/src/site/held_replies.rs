//! Large replies of the store that had to be copied.
//!
//! Owns their limit per scheduler. Never knows whose they are: a session returns what it holds.

use store::Failure;

use crate::limits::{STORE_HELD_SIZE, STORE_LENT_SIZE};

/// Large replies of a scheduler that had to be copied, and that their clients have not taken. Without a bound, a few clients that take nothing would
/// have the memory that all connections have together.
#[derive(Debug, Default)]
pub(crate) struct HeldReplies {
    bytes: usize,
}

impl HeldReplies {
    /// There is room for a reply of that size: gives the bytes that are held for it from now on.
    ///
    /// # Errors
    /// When others hold too much.
    pub(crate) fn hold(&mut self, size: usize) -> Result<usize, Failure> {
        if size < STORE_LENT_SIZE {
            return Ok(0);
        }
        if self.bytes > 0 && self.bytes + size > STORE_HELD_SIZE {
            return Err(Failure::TooMuch);
        }
        self.bytes += size;
        Ok(size)
    }

    /// How many bytes they have.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A client has taken its replies, or has gone.
    pub(crate) fn let_go(&mut self, size: usize) {
        self.bytes = self.bytes.saturating_sub(size);
    }
}
