//! The progress of garbage collection, apart from what LuaJIT does itself.
//!
//! Owns these numbers. Never collects: `garbage` does.

/// How many collection cycles must end before everything that is garbage now is freed. The current cycle may already
/// have passed some of it, so it takes one more.
pub(super) const CYCLES: u64 = 2;

/// The state of the collector.
#[derive(Debug, Default)]
pub(super) struct Collection {
    /// The number of cycles that have ended.
    pub(super) cycles: u64,
    /// The number of the cycle that ends the current collection; if it has ended, there is no collection.
    pub(super) until: u64,
    /// Bytes in use at the end of the last collection.
    pub(super) left: usize,
    /// Whether a run was refused memory since the last collection began.
    pub(super) is_refused: bool,
    /// Bytes that were missing at the end of the last collection, until they are asked for.
    pub(super) missing: u64,
}

impl Collection {
    /// Whether a collection is in progress.
    pub(super) fn is_underway(&self) -> bool {
        self.cycles < self.until
    }
}
