//! The pulse of a scheduler: when its turn began, visible to another thread.
//!
//! Owns that one word, and which thread it is. Never says how long a turn may take: the reading thread does.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use sys::backtrace::TraceableThread;

/// The pulse of one scheduler, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Pulse {
    /// Zero while the scheduler waits.
    turn_began_ns: AtomicU64,
    /// The number of its thread; zero before it runs, or if it cannot be traced.
    thread: AtomicU32,
}

impl Pulse {
    pub(crate) fn begin_turn(&self, now_ns: u64) {
        self.turn_began_ns.store(now_ns, Relaxed);
    }

    pub(crate) fn rest(&self) {
        self.turn_began_ns.store(0, Relaxed);
    }

    /// The scheduler runs on the calling thread from now on.
    pub(crate) fn begin_thread(&self) {
        if let Ok(thread) = sys::backtrace::this_thread() {
            self.thread.store(thread.number(), Relaxed);
        }
    }

    /// The thread of the scheduler, for its back-trace; `None` if it cannot be traced.
    pub fn thread(&self) -> Option<TraceableThread> {
        TraceableThread::of_number(self.thread.load(Relaxed))
    }

    /// When the scheduler's current turn began, on the monotonic clock; `None` while it waits.
    pub fn turn_began_ns(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.turn_began_ns.load(Relaxed))
    }
}
