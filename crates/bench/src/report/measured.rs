//! The input of a report.
//!
//! Owns its shape. Never computes: every figure here was read somewhere or given.

use serde::{Deserialize, Serialize};

use crate::host::{HostFacts, ServerUse, ThreadUse};
use crate::report::hold::HoldReport;
use crate::tally::Tally;

/// Everything a report is made of.
#[derive(Debug, Clone)]
pub struct Measured {
    /// When the first run began, in seconds since 1970-01-01 00:00 UTC.
    pub begun_unix_s: u64,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// What was asked.
    pub plan: PlanReport,
    /// Whether all of it was done.
    pub ended: Ended,
    /// Where it ran.
    pub host: HostFacts,
    /// What each run came to.
    pub runs: Vec<RunMeasured>,
    /// What holding connections came to, where that was asked.
    pub hold: Option<HoldReport>,
}

/// How the runs came to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// As planned.
    Complete,
    /// Somebody stopped it: the last run is short, or some are missing.
    Interrupted,
}

/// What one run came to.
#[derive(Debug, Clone)]
pub struct RunMeasured {
    /// The tallies of all threads in one.
    pub tally: Tally,
    /// How long was counted, in nanoseconds of the monotonic clock.
    pub wall_ns: u64,
    /// What each generator thread used while it was counted.
    pub generator: Vec<ThreadUse>,
    /// What the server used in that time; none when it is not on this host or cannot be seen.
    pub server: Option<ServerUse>,
    /// The share of the time of all cores that the hypervisor gave to others; none when unknown.
    pub steal_share: Option<f64>,
    /// What the clocks did in that time.
    pub clock: ClockUse,
}

/// What the clocks did during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockUse {
    /// How often a reading of the monotonic clock was before the one before it.
    pub went_back: u64,
    /// The length of the run by the monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// The length of the run by the time of day, in nanoseconds; negative when it was set back.
    pub realtime_ns: i64,
}

/// One URL that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetReport {
    /// The method of its requests.
    pub method: String,
    /// The URL, as given.
    pub url: String,
    /// Its share among the weights of all.
    pub weight: u32,
}

/// A part of a run with a rate of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Requests a second at its begin.
    pub from_per_s: f64,
    /// Requests a second at its end.
    pub to_per_s: f64,
    /// Its length.
    pub duration_ns: u64,
}

/// What was asked of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanReport {
    /// What kind of measurement: `http`, `hold`, `knee`.
    pub verb: String,
    /// Where requests went.
    pub targets: Vec<TargetReport>,
    /// Connections held at once, of all threads.
    pub connections: u64,
    /// Generator threads.
    pub threads: u32,
    /// How requests come: `closed`, `constant` or `poisson`.
    pub pace: String,
    /// Requests a second at the begin of a run; null in a closed loop.
    pub rate_from_per_s: Option<f64>,
    /// Requests a second at the end of a run; null in a closed loop.
    pub rate_to_per_s: Option<f64>,
    /// The rates of a run, one after the other; empty in a closed loop.
    #[serde(default)]
    pub stages: Vec<StageReport>,
    /// Length of a run.
    pub duration_ns: u64,
    /// After how many requests a run ends before that; null where time alone ends it.
    #[serde(default)]
    pub count: Option<u64>,
    /// Time before each run that is not counted.
    pub warmup_ns: u64,
    /// How many runs.
    pub runs: u32,
    /// After how many requests a connection is closed; null when it is kept.
    pub requests_per_connection: Option<u64>,
    /// Requests on their way at once on each connection.
    pub pipeline: u32,
    /// After how long without a whole answer a request has failed.
    pub timeout_ns: u64,
    /// The cores the threads were pinned to; empty when they were not.
    pub pinned: Vec<u32>,
    /// What an answer had to be, in words; null when any was good.
    pub check: Option<String>,
    /// What random numbers and arrivals began from.
    pub seed: u64,
}

impl PlanReport {
    /// Whether requests came at more than one rate.
    pub(crate) fn has_many_rates(&self) -> bool {
        let is_other = |rate| Some(rate) != self.rate_from_per_s;
        self.rate_from_per_s != self.rate_to_per_s
            || self
                .stages
                .iter()
                .any(|stage| is_other(stage.from_per_s) || is_other(stage.to_per_s))
    }
}
