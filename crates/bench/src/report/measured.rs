//! The input of a report.
//!
//! Owns its shape. Never computes: every figure here was read or given.

use serde::{Deserialize, Serialize};

use crate::host::{HostFacts, ServerUse, ThreadUse};
use crate::report::encryption::EncryptionPlanReport;
use crate::report::hold::HoldReport;
use crate::tally::{FailureKind, Tally};

/// Everything in a report.
#[derive(Debug, Clone)]
pub struct Measured {
    /// When the first run began, in seconds since 1970-01-01 00:00 UTC.
    pub begun_unix_s: u64,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// The plan.
    pub plan: PlanReport,
    /// Whether all of it was executed.
    pub ended: Ended,
    /// Where it ran.
    pub host: HostFacts,
    /// The result of each run.
    pub runs: Vec<RunMeasured>,
    /// The result of holding connections, if requested.
    pub hold: Option<HoldReport>,
}

/// How the runs ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// As planned.
    Complete,
    /// It was stopped: the last run is short, or some are missing.
    Interrupted,
}

/// The result of one run.
#[derive(Debug, Clone)]
pub struct RunMeasured {
    /// The combined tallies of all threads.
    pub tally: Tally,
    /// The length of the counted time, in nanoseconds of the monotonic clock.
    pub wall_ns: u64,
    /// The resources that each generator thread used while it was counted.
    pub generator: Vec<ThreadUse>,
    /// The resources that the server used in that time; `None` if it is not on this host or cannot be inspected.
    pub server: Option<ServerUse>,
    /// The share of the time of all cores that the hypervisor gave to others; `None` if unknown.
    pub steal_share: Option<f64>,
    /// The behaviour of the clocks in that time.
    pub clock: ClockBehaviour,
}

/// The behaviour of the clocks during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockBehaviour {
    /// How often a reading of the monotonic clock was earlier than the previous one.
    pub went_back: u64,
    /// The length of the run by the monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// The length of the run by the time of day, in nanoseconds; negative if it was set back.
    pub realtime_ns: i64,
}

/// One URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetReport {
    /// The method of its requests.
    pub method: String,
    /// The URL, as given.
    pub url: String,
    /// Its weight.
    pub weight: u32,
}

/// A part of a run with its own rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Requests a second at its begin.
    pub from_per_s: f64,
    /// Requests a second at its end.
    pub to_per_s: f64,
    /// Its length.
    pub duration_ns: u64,
}

/// The plan of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanReport {
    /// The kind of measurement: `http`, `hold`, `knee`.
    pub verb: String,
    /// Where requests went.
    pub targets: Vec<TargetReport>,
    /// Connections of all threads held at once.
    pub connections: u64,
    /// Generator threads.
    pub threads: u32,
    /// How requests arrive: `closed`, `constant` or `poisson`.
    pub pace: String,
    /// Requests a second at the begin of a run; null in a closed loop.
    pub rate_from_per_s: Option<f64>,
    /// Requests a second at the end of a run; null in a closed loop.
    pub rate_to_per_s: Option<f64>,
    /// The rates of a run in order; empty in a closed loop.
    #[serde(default)]
    pub stages: Vec<StageReport>,
    /// Length of a run.
    pub duration_ns: u64,
    /// The number of requests after which a run ends early; null if only time ends it.
    pub count: Option<u64>,
    /// Time before each run that is not counted.
    pub warmup_ns: u64,
    /// The number of runs.
    pub runs: u32,
    /// The number of requests after which a connection is closed; null if it is kept.
    pub requests_per_connection: Option<u64>,
    /// Whether requests go over HTTP/2.
    #[serde(default)]
    pub http2: bool,
    /// Requests in flight at once on each connection; over HTTP/2 each on a stream of its own.
    pub pipeline: u32,
    /// The time after which a request without a whole answer has failed.
    pub timeout_ns: u64,
    /// The cores the threads were pinned to; empty when they were not.
    pub pinned: Vec<u32>,
    /// The criteria for an answer, in words; null if any was accepted.
    pub check: Option<String>,
    /// How connections were to be encrypted; null if none was.
    pub tls: Option<EncryptionPlanReport>,
    /// The seed of random numbers and arrivals.
    pub seed: u64,
}

impl PlanReport {
    /// The kinds of failure that this plan can have: there is no handshake without encryption.
    pub(crate) fn failure_kinds(&self) -> impl Iterator<Item = FailureKind> {
        let has_handshakes = self.tls.is_some();
        FailureKind::ALL
            .into_iter()
            .filter(move |kind| has_handshakes || *kind != FailureKind::Handshake)
    }

    /// Whether there was more than one rate.
    pub(crate) fn has_many_rates(&self) -> bool {
        let is_other = |rate| Some(rate) != self.rate_from_per_s;
        self.rate_from_per_s != self.rate_to_per_s
            || self
                .stages
                .iter()
                .any(|stage| is_other(stage.from_per_s) || is_other(stage.to_per_s))
    }
}
