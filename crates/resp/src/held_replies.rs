//! Large replies of the store that were copied to memory.
//!
//! Owns their limit per scheduler. Never knows the session: a session gives back what it holds.

use local::limits::LENT_SIZE;
use store::StoreFailure;

use crate::limits::HELD_SIZE;

/// Large replies that were copied and that clients have not received yet. Without a limit, a few clients that do not
/// read could take the memory of all connections.
#[derive(Debug, Default)]
pub(crate) struct HeldReplies {
    bytes: usize,
}

impl HeldReplies {
    /// Reserves memory for a reply of that size. Returns the reserved bytes.
    ///
    /// # Errors
    /// If the replies of all clients together would exceed the limit.
    pub(crate) fn hold(&mut self, size: usize) -> Result<usize, StoreFailure> {
        if size < LENT_SIZE {
            return Ok(0);
        }
        if self.bytes > 0 && self.bytes + size > HELD_SIZE {
            return Err(StoreFailure::TooMuch);
        }
        self.bytes += size;
        Ok(size)
    }

    /// The reserved bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases the bytes of a client that has received its replies, or has closed.
    pub(crate) fn let_go(&mut self, size: usize) {
        self.bytes = self.bytes.saturating_sub(size);
    }
}
