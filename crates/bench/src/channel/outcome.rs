//! The measurements of one generator.
//!
//! Owns its form, in which it also goes from one host to another. Figures of several generators are computed from
//! their sums, never from each other.

use serde::{Deserialize, Serialize};

use super::tally::Tally;
use crate::host::{ServerUse, ThreadUse};
use crate::report::EncryptionReport;

/// The measurements of one generator. Plain data: `run` builds it, and `report` reads it.
#[derive(Debug, Serialize, Deserialize)]
pub struct ChannelOutcome {
    pub(crate) begun_unix_s: u64,
    pub(crate) wanted: u64,
    pub(crate) tally: Tally,
    pub(crate) tls: Option<EncryptionReport>,
    /// The share of its core that its busiest thread used.
    pub(crate) busy: f64,
    pub(crate) server: Option<ServerFigures>,
    pub(crate) steal_share: Option<f64>,
    pub(crate) storm: Option<StormFigures>,
    pub(crate) is_whole: bool,
}

impl ChannelOutcome {
    /// How many messages its subscribers have received.
    pub fn received(&self) -> u64 {
        self.tally.received()
    }

    /// Moves its times to the clock of another host, which shows this much more.
    pub fn shift(&mut self, offset_ns: i64) {
        self.tally.shift(offset_ns);
    }
}

/// The CPU time and memory that the server on this host used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServerFigures {
    pids: Vec<u32>,
    cpu_ns: u64,
    busy: Option<f64>,
    grown_bytes: Option<u64>,
}

impl ServerFigures {
    pub(super) fn of(server: ServerUse, generator: &[ThreadUse], grown_bytes: Option<u64>) -> Self {
        let wall_ns = generator.iter().map(|thread| thread.wall_ns).max().unwrap_or(0);
        let busy = (wall_ns > 0).then(|| server.busiest_thread_ns as f64 / wall_ns as f64);
        Self { pids: server.pids, cpu_ns: server.cpu_ns, busy, grown_bytes }
    }

    /// Its CPU time in the run.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// The share of its core that its busiest thread used.
    pub(super) fn busy(&self) -> Option<f64> {
        self.busy
    }

    /// How much its memory has grown while subscribers were opened.
    pub(super) fn grown_bytes(&self) -> Option<u64> {
        self.grown_bytes
    }

    /// The servers that generators on one or several hosts have seen. Those with the same processes are the same one.
    pub(super) fn together<'s>(servers: impl Iterator<Item = &'s Self>) -> Option<Self> {
        let mut each: Vec<&Self> = Vec::new();
        for server in servers {
            if each.iter().all(|known| known.pids != server.pids) {
                each.push(server);
            }
        }
        each.into_iter().cloned().reduce(|sum, one| Self {
            pids: [sum.pids, one.pids].concat(),
            cpu_ns: sum.cpu_ns + one.cpu_ns,
            busy: sum.busy.into_iter().chain(one.busy).reduce(f64::max),
            grown_bytes: sum.grown_bytes.zip(one.grown_bytes).map(|(sum, one)| sum + one),
        })
    }
}

/// The storm as the one that watches the threads saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StormFigures {
    all_back_ns: Option<u64>,
    server_cpu_ns: Option<u64>,
}

impl StormFigures {
    /// `all_back_ns` is from the cut until all were back; the server used this much more CPU time meanwhile than in a
    /// time of the same length before.
    pub(super) fn new(all_back_ns: Option<u64>, server_cpu_ns: Option<u64>) -> Self {
        Self { all_back_ns, server_cpu_ns }
    }

    /// From the cut until all were back.
    pub(super) fn all_back_ns(self) -> Option<u64> {
        self.all_back_ns
    }

    /// The CPU time that the server used for it.
    pub(super) fn server_cpu_ns(self) -> Option<u64> {
        self.server_cpu_ns
    }
}
