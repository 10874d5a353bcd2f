//! The counters of Redis clients, for each scheduler.
//!
//! Owns that each scheduler writes only its own counters, and that all can read them, so that `INFO` on any
//! scheduler describes the whole server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runtime::mailbox::Endpoint;
use sys::clock::monotonic_ns;

metric::counted! {
    /// What a scheduler counted of Redis clients.
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
struct Counters {
    connections: AtomicU64,
    closed: AtomicU64,
    commands: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    rests: AtomicU64,
}

impl RespCounts {
    /// Counters for that many schedulers; the handle of the first.
    #[must_use]
    pub fn new(schedulers: usize) -> Self {
        let all = (0..schedulers.max(1)).map(|_| Counters::default()).collect();
        Self { all, here: 0, start_ns: monotonic_ns() }
    }

    /// The handle of another scheduler.
    #[must_use]
    pub fn at(&self, scheduler: Endpoint) -> Self {
        Self { here: usize::from(scheduler.0), ..self.clone() }
    }

    /// The counters of this scheduler.
    pub(crate) fn own(&self) -> RespStats {
        self.all.get(self.here).map(Counters::read).unwrap_or_default()
    }

    /// The sum over all schedulers.
    pub(crate) fn sum(&self) -> RespStats {
        self.all.iter().map(Counters::read).fold(RespStats::default(), |sum, one| RespStats {
            clients: sum.clients + one.clients,
            connections: sum.connections + one.connections,
            commands: sum.commands + one.commands,
            hits: sum.hits + one.hits,
            misses: sum.misses + one.misses,
            rests: sum.rests + one.rests,
        })
    }

    /// Whole seconds since the server started.
    pub(crate) fn uptime_s(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.start_ns) / 1_000_000_000
    }

    pub(crate) fn count_connection(&self) {
        self.count(|counters| &counters.connections);
    }

    pub(crate) fn count_close(&self) {
        self.count(|counters| &counters.closed);
    }

    pub(crate) fn count_command(&self) {
        self.count(|counters| &counters.commands);
    }

    pub(crate) fn count_rest(&self) {
        self.count(|counters| &counters.rests);
    }

    /// Counts a lookup of a key.
    pub(crate) fn count_look_up<T>(&self, found: Option<&T>) {
        match found {
            Some(_) => self.count(|counters| &counters.hits),
            None => self.count(|counters| &counters.misses),
        }
    }

    fn count(&self, which: impl FnOnce(&Counters) -> &AtomicU64) {
        if let Some(counters) = self.all.get(self.here) {
            let counter = which(counters);
            // No other thread writes this counter, so the addition loses nothing.
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

impl Counters {
    fn read(&self) -> RespStats {
        let closed = self.closed.load(Ordering::Relaxed);
        let connections = self.connections.load(Ordering::Relaxed);
        RespStats {
            clients: connections.saturating_sub(closed),
            connections,
            commands: self.commands.load(Ordering::Relaxed),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            rests: self.rests.load(Ordering::Relaxed),
        }
    }
}
