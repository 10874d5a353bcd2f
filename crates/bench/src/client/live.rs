//! The progress of a running thread, for a live display.
//!
//! Owns a few counters that one thread stores about ten times per second and another reads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The counters of one thread, and the means to stop it.
#[derive(Debug, Default)]
pub struct Live {
    answered: AtomicU64,
    failed: AtomicU64,
    open: AtomicU64,
    p99_ns: AtomicU64,
    opened: AtomicU64,
    tried: AtomicU64,
    /// 0 until it is known.
    start_ns: AtomicU64,
    stop: AtomicBool,
    over: AtomicBool,
}

/// The values of [`Live`] at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Answers that were as expected.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Connections open.
    pub open: u64,
    /// The 99th percentile of the response time in the last second or two; zero if nothing was answered then.
    pub p99_ns: u64,
    /// Connections that were opened so far.
    pub opened: u64,
    /// Attempts to open a connection that have ended, successfully or not.
    pub tried: u64,
}

impl Live {
    pub(super) fn tell(&self, glance: Glance) {
        self.answered.store(glance.answered, Ordering::Relaxed);
        self.failed.store(glance.failed, Ordering::Relaxed);
        self.open.store(glance.open, Ordering::Relaxed);
        self.p99_ns.store(glance.p99_ns, Ordering::Relaxed);
        self.opened.store(glance.opened, Ordering::Relaxed);
        self.tried.store(glance.tried, Ordering::Relaxed);
    }

    /// The current values.
    pub fn glance(&self) -> Glance {
        Glance {
            answered: self.answered.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            open: self.open.load(Ordering::Relaxed),
            p99_ns: self.p99_ns.load(Ordering::Relaxed),
            opened: self.opened.load(Ordering::Relaxed),
            tried: self.tried.load(Ordering::Relaxed),
        }
    }

    /// Makes the thread begin to send at this time, if it had no time at its launch. It notices within a
    /// tenth of a second.
    pub fn begin(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
    }

    pub(super) fn start_ns(&self) -> Option<u64> {
        Some(self.start_ns.load(Ordering::Relaxed)).filter(|start_ns| *start_ns > 0)
    }

    /// Makes the thread end its run within a tenth of a second.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Its run has ended: it has sent all its requests.
    pub(super) fn finish(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Whether its run has ended.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
