//! The progress of garbage collection, apart from what LuaJIT does itself.
//!
//! Owns these numbers. Never collects: `garbage` does.

/// How many collection cycles must end before everything that is garbage now is freed. The current cycle may already
/// have passed some of it, so it takes one more.
const CYCLES: u64 = 2;

/// The state of the collector.
#[derive(Debug, Default)]
pub(super) struct Collection {
    /// The number of cycles that have ended.
    cycles: u64,
    /// The number of the cycle that ends the current collection; if it has ended, there is no collection.
    until: u64,
    left: usize,
    is_refused: bool,
    missing: u64,
}

impl Collection {
    /// Whether a collection is in progress.
    pub(super) fn is_underway(&self) -> bool {
        self.cycles < self.until
    }

    /// A collection begins.
    pub(super) fn begin(&mut self) {
        self.until = self.next_until();
    }

    /// A cycle has ended. Returns whether it was the last one of a collection.
    pub(super) fn note_cycle(&mut self) -> bool {
        let was_underway = self.is_underway();
        self.cycles += 1;
        was_underway && !self.is_underway()
    }

    /// A collection has ended, with so many bytes in use, and so many that are missing.
    pub(super) fn end(&mut self, left: usize, missing: u64) {
        let (cycles, until) = (self.cycles, self.cycles.min(self.until));
        *self = Self { cycles, until, left, is_refused: false, missing };
    }

    /// The number of the cycle after which everything that is garbage now is freed.
    pub(super) fn next_until(&self) -> u64 {
        self.cycles + CYCLES
    }

    /// Whether the cycle with this number has ended.
    pub(super) fn has_ended(&self, cycle: u64) -> bool {
        self.cycles >= cycle
    }

    /// Bytes in use at the end of the last collection.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// A run was refused memory.
    pub(super) fn note_refused(&mut self) {
        self.is_refused = true;
    }

    /// Whether a run was refused memory since the last collection ended.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Bytes that were missing at the end of the last collection, once.
    pub(super) fn take_missing(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.missing)).filter(|bytes| *bytes > 0)
    }
}
