//! The progress of garbage collection, apart from what LuaJIT does itself.
//!
//! Owns these numbers. Never collects: `garbage` does.

/// How many collection cycles have to end before everything that is garbage now is free. The cycle under way may already have passed by
/// some of it, so it takes one more.
pub(super) const CYCLES: u64 = 2;

/// How far the collector is.
#[derive(Debug, Default)]
pub(super) struct Collection {
    /// Ends of cycles so far.
    pub(super) cycles: u64,
    /// The number of the cycle with whose end the collection under way is over; when that has come, none is under way.
    pub(super) until: u64,
    /// Bytes in use at the end of the last one.
    pub(super) left: usize,
    /// A run was refused memory since the last one began.
    pub(super) is_refused: bool,
    /// Bytes that were missing when the last one was over, until somebody asks.
    pub(super) missing: u64,
}

impl Collection {
    /// Whether one is under way.
    pub(super) fn is_underway(&self) -> bool {
        self.cycles < self.until
    }
}
