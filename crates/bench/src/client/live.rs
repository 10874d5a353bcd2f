//! The progress of a running thread, for a live display.
//!
//! Owns a few counters that one thread stores about ten times per second and another reads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The counters of one thread, and the way to stop it.
#[derive(Debug, Default)]
pub struct Live {
    answered: AtomicU64,
    failed: AtomicU64,
    open: AtomicU64,
    p99_ns: AtomicU64,
    opened: AtomicU64,
    tried: AtomicU64,
    /// 0 as long as nobody knows.
    start_ns: AtomicU64,
    stop: AtomicBool,
    over: AtomicBool,
}

/// What [`Live`] said at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Answers that were as expected.
    pub answered: u64,
    /// Requests that came to nothing good.
    pub failed: u64,
    /// Connections open.
    pub open: u64,
    /// The 99th percentile of the response time in the latest second or two; zero when nothing was answered then.
    pub p99_ns: u64,
    /// Connections that were opened so far.
    pub opened: u64,
    /// Attempts to open one that have come to an end, good or bad.
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

    /// What it says now.
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

    /// Has the thread begin to ask at this time, where it was told none before it was launched. It hears of it within a
    /// tenth of a second.
    pub fn begin(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
    }

    pub(super) fn start_ns(&self) -> Option<u64> {
        Some(self.start_ns.load(Ordering::Relaxed)).filter(|start_ns| *start_ns > 0)
    }

    /// Has the thread end its run within a tenth of a second.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Its run is over: it has asked all it was to ask.
    pub(super) fn finish(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Whether its run is over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
