//! The pulse of a scheduler: when its turn began, visible to another thread.
//!
//! Owns that one word. Never says how long a turn may take: the reading thread does.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The pulse of one scheduler, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Pulse {
    /// Zero while the scheduler waits.
    turn_began_ns: AtomicU64,
}

impl Pulse {
    pub(crate) fn begin_turn(&self, now_ns: u64) {
        self.turn_began_ns.store(now_ns, Relaxed);
    }

    pub(crate) fn rest(&self) {
        self.turn_began_ns.store(0, Relaxed);
    }

    /// When the scheduler's current turn began, on the monotonic clock; `None` while it waits.
    pub fn turn_began_ns(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.turn_began_ns.load(Relaxed))
    }
}
