//! The signs between the threads of a run and the one that watches them.
//!
//! Owns these numbers; each is written by one side. They are counters and times, never a queue.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::ChannelMoment;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Everything was published, and there was time for all of it to arrive.
    Whole,
    /// It was ended early: what is missing at the end says nothing.
    Early,
}

/// Shared state of the threads and the one that watches them.
#[derive(Debug)]
pub(crate) struct Signs {
    open: AtomicU64,
    /// Those that are open, and those that could not be opened.
    tried: AtomicU64,
    /// When publishing begins and ends; never, until it is known.
    begin_ns: AtomicU64,
    end_ns: AtomicU64,
    /// By publisher, among those of all generators.
    published: Box<[AtomicU64]>,
    received: AtomicU64,
    /// The nanoseconds by which the clock of each generator is behind this one.
    clocks: OnceLock<Vec<i64>>,
    /// When the storm was ordered; 0 before.
    storm_ns: AtomicU64,
    /// Threads that have cut their connections, and cut subscribers that are not back.
    cutters: AtomicU64,
    away: AtomicU64,
    /// When the first was cut, and when the last was back.
    cut_ns: AtomicU64,
    back_ns: AtomicU64,
    /// 0 while the run goes on.
    over: AtomicU64,
}

impl Signs {
    /// At the begin of a run of this many publishers.
    pub(super) fn new(publishers: usize) -> Self {
        Self {
            open: AtomicU64::new(0),
            tried: AtomicU64::new(0),
            begin_ns: AtomicU64::new(u64::MAX),
            end_ns: AtomicU64::new(u64::MAX),
            published: (0..publishers).map(|_| AtomicU64::new(0)).collect(),
            received: AtomicU64::new(0),
            clocks: OnceLock::new(),
            storm_ns: AtomicU64::new(0),
            cutters: AtomicU64::new(0),
            away: AtomicU64::new(0),
            cut_ns: AtomicU64::new(u64::MAX),
            back_ns: AtomicU64::new(0),
            over: AtomicU64::new(0),
        }
    }

    /// Sets when publishing begins and how long it lasts, and how the clocks of all generators differ.
    pub(super) fn begin(&self, begin_ns: u64, duration: Duration, clocks: Vec<i64>) {
        // Set once in each run.
        let _first = self.clocks.set(clocks);
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.end_ns.store(begin_ns.saturating_add(duration_ns), Ordering::Relaxed);
        self.begin_ns.store(begin_ns, Ordering::Release);
    }

    /// When publishing begins; never, until it is known.
    pub(super) fn begin_ns(&self) -> u64 {
        self.begin_ns.load(Ordering::Acquire)
    }

    /// When it ends.
    pub(super) fn end_ns(&self) -> u64 {
        self.end_ns.load(Ordering::Relaxed)
    }

    /// A time by the clock of a generator, by this host's.
    pub(super) fn here_ns(&self, generator: usize, time_ns: u64) -> u64 {
        let offset_ns = self.clocks.get().and_then(|clocks| clocks.get(generator));
        time_ns.saturating_add_signed(offset_ns.copied().unwrap_or(0))
    }

    /// A subscriber is open.
    pub(super) fn open_one(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.tried.fetch_add(1, Ordering::Relaxed);
    }

    /// A subscriber could not be opened.
    pub(super) fn miss_one(&self) {
        self.tried.fetch_add(1, Ordering::Relaxed);
    }

    /// How many are open, or could not be opened.
    pub(super) fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// More messages have arrived.
    pub(super) fn receive(&self, messages: u64) {
        self.received.fetch_add(messages, Ordering::Relaxed);
    }

    /// A publisher has published this many messages.
    pub(super) fn publish(&self, publisher: usize, messages: u64) {
        if let Some(published) = self.published.get(publisher) {
            published.store(messages, Ordering::Relaxed);
        }
    }

    /// How many each publisher has published.
    pub(super) fn published(&self) -> Vec<u64> {
        self.published.iter().map(|published| published.load(Ordering::Relaxed)).collect()
    }

    /// How many all of them together have published.
    pub(super) fn sent(&self) -> u64 {
        self.published.iter().map(|published| published.load(Ordering::Relaxed)).sum()
    }

    /// Orders the storm.
    pub(super) fn storm(&self, now_ns: u64) {
        self.storm_ns.store(now_ns.max(1), Ordering::Release);
    }

    /// Whether the storm was ordered.
    pub(super) fn storms(&self) -> bool {
        self.storm_ns.load(Ordering::Acquire) != 0
    }

    /// A thread has cut this many connections.
    pub(super) fn cut(&self, subscribers: u64, now_ns: u64) {
        self.cut_ns.fetch_min(now_ns, Ordering::Relaxed);
        self.away.fetch_add(subscribers, Ordering::Relaxed);
        self.cutters.fetch_add(1, Ordering::Release);
    }

    /// A subscriber that was cut is back.
    pub(super) fn come_back(&self, now_ns: u64) {
        self.back_ns.fetch_max(now_ns, Ordering::Relaxed);
        self.away.fetch_sub(1, Ordering::Release);
    }

    /// Whether all subscribers are back, after this many threads have cut connections.
    pub(super) fn are_back(&self, threads: u64) -> bool {
        self.cutters.load(Ordering::Acquire) >= threads && self.away.load(Ordering::Acquire) == 0
    }

    /// From the first cut until the last was back.
    pub(super) fn storm_ns(&self) -> u64 {
        let back_ns = self.back_ns.load(Ordering::Relaxed);
        back_ns.saturating_sub(self.cut_ns.load(Ordering::Relaxed))
    }

    /// The run is over.
    pub(super) fn end(&self, ending: Ending) {
        let word = match ending {
            Ending::Whole => 1,
            Ending::Early => 2,
        };
        self.over.store(word, Ordering::Release);
    }

    /// Whether and how the run is over.
    pub(super) fn ending(&self) -> Option<Ending> {
        match self.over.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Ending::Whole),
            _ => Some(Ending::Early),
        }
    }

    /// The progress.
    pub(super) fn moment(&self, wanted: u64) -> ChannelMoment {
        ChannelMoment {
            open: self.open.load(Ordering::Relaxed),
            wanted,
            published: self.sent(),
            received: self.received.load(Ordering::Relaxed),
        }
    }
}
