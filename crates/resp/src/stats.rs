//! The counters of Redis clients, for each scheduler.
//!
//! Owns that each scheduler writes only its own counters, and that all can read them, so that `INFO` on any
//! scheduler describes the whole server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runtime::mailbox::Endpoint;
use sys::clock::monotonic_ns;

metric::counted! {
    /// A scheduler's counts of Redis clients.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct RespStats {
        /// Redis clients that are connected.
        pub clients: u64 = Elsewhere("as the processes of the kind `resp`"),
        /// Redis clients that have connected.
        pub connections: u64 = Counter(Count, "resp.connections", "resp_connections"),
        /// Commands of Redis clients.
        pub commands: u64 = Counter(Count, "resp.commands", "resp_commands"),
        /// Keys that GET, GETRANGE and MGET found.
        pub hits: u64 = Counter(Count, "resp.hits", "resp_hits"),
        /// Keys that GET, GETRANGE and MGET did not find.
        pub misses: u64 = Counter(Count, "resp.misses", "resp_misses"),
        /// Times that commands of a Redis client went on in the next turn, because the time of a turn was used up.
        pub rests: u64 = Counter(Count, "resp.rests", "resp_rests"),
    }
}

/// A scheduler's handle to the counters of all schedulers.
#[derive(Clone, Debug)]
pub struct RespCounts {
    all: Arc<[Counters]>,
    /// The index of this scheduler.
    here: usize,
    /// When the server started.
    start_ns: u64,
}

/// The counters of one scheduler, on cache lines that no other scheduler writes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counters([AtomicU64; COUNTERS]);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Counter {
    Connections,
    Closed,
    Commands,
    Hits,
    Misses,
    Rests,
}

const COUNTERS: usize = Counter::Rests as usize + 1;

impl RespCounts {
    /// Counters for that many schedulers; the handle of the first.
    pub fn new(schedulers: usize) -> Self {
        let all = (0..schedulers.max(1)).map(|_| Counters::default()).collect();
        Self { all, here: 0, start_ns: monotonic_ns() }
    }

    /// The handle of another scheduler.
    pub fn at(&self, scheduler: Endpoint) -> Self {
        Self { here: usize::from(scheduler.0), ..self.clone() }
    }

    /// The counters of this scheduler.
    pub(crate) fn own(&self) -> RespStats {
        RespStats::of(|counter| {
            self.all.get(self.here).map_or(0, |counters| counters.read(counter))
        })
    }

    /// The sum over all schedulers.
    pub(crate) fn sum(&self) -> RespStats {
        RespStats::of(|counter| self.all.iter().map(|counters| counters.read(counter)).sum())
    }

    /// Whole seconds since the server started.
    pub(crate) fn uptime_s(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.start_ns) / 1_000_000_000
    }

    /// Counts one more.
    pub(crate) fn count(&self, counter: Counter) {
        if let Some(Counters(counters)) = self.all.get(self.here) {
            let counter = &counters[counter as usize];
            // No other thread writes this counter, so the addition loses nothing.
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

impl Counters {
    fn read(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Ordering::Relaxed)
    }
}

impl RespStats {
    fn of(read: impl Fn(Counter) -> u64) -> Self {
        let closed = read(Counter::Closed);
        let connections = read(Counter::Connections);
        Self {
            clients: connections.saturating_sub(closed),
            connections,
            commands: read(Counter::Commands),
            hits: read(Counter::Hits),
            misses: read(Counter::Misses),
            rests: read(Counter::Rests),
        }
    }
}
