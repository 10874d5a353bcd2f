//! One run as stored.
//!
//! Owns the names and units of its fields, as [`schema`](super::schema) does for the whole report.

use serde::{Deserialize, Serialize};

use crate::report::encryption::EncryptionReport;
pub use crate::report::latency::LatencyReport;
use crate::report::measured::ClockBehaviour;
use crate::tally::{ConnectionTally, FailureCounts, StreamTally};

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The length of the counted time.
    pub wall_ns: u64,
    /// Answered requests a second.
    pub rate_per_s: f64,
    /// The results of the requests.
    pub requests: Requests,
    /// The results of the connections.
    pub connections: ConnectionTally,
    /// Bytes over all connections.
    pub bytes: BytesReport,
    /// From sending a request to the last byte of the answer.
    pub service: LatencyReport,
    /// From the time a request was due to the last byte of the answer.
    pub response: LatencyReport,
    /// From the begin of a connect to its end.
    pub connect: LatencyReport,
    /// The handshakes of encrypted connections; null without any.
    pub tls: Option<EncryptionReport>,
    /// The events of HTTP/2's streams; null if nothing did, and over HTTP/1.1.
    pub http2: Option<StreamTally>,
    /// From the time a request was due and a connection free until it was sent.
    pub late: LatencyReport,
    /// Second by second.
    pub seconds: Vec<SecondReport>,
    /// The cost of measuring.
    pub generator: GeneratorReport,
    /// The resources that the server used; null if it is not on this host or cannot be inspected.
    pub server: Option<ServerUsage>,
    /// The share of the time of all cores that the hypervisor gave to others; null if unknown.
    pub steal_share: Option<f64>,
    /// The behaviour of the clocks.
    pub clock: ClockBehaviour,
    /// Whether rate, service time and connections agree.
    pub littles_law: LittlesLaw,
}

/// The requests of a run, by their result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Those that became due.
    pub asked: u64,
    /// Those handed to the kernel.
    pub sent: u64,
    /// Those that were due while every connection was busy.
    pub waited: u64,
    /// Those answered as expected.
    pub answered: u64,
    /// Those that failed, of all kinds.
    pub failed: u64,
    /// Answers, or bytes after one, without a request: counted among the failed as garbage, and nowhere else.
    #[serde(default)]
    pub unasked: u64,
    /// Those that failed, by kind.
    pub failed_by: FailureCounts,
    /// Those without a result when the counting began; their result is counted.
    pub in_flight_start: u64,
    /// Those without a result when the counting ended. In an open loop their age then is among the response times.
    pub in_flight_end: u64,
    /// Those that read an existing key of a store.
    #[serde(default)]
    pub found: u64,
    /// Those that read a missing key.
    #[serde(default)]
    pub missing: u64,
    /// Those of an open loop that were due but not taken by a connection when the counting began.
    #[serde(default)]
    pub unsent_start: u64,
    /// The same when it ended.
    #[serde(default)]
    pub unsent_end: u64,
}

/// Bytes of a run, as sockets count them: heads and bodies, no TCP, no IP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesReport {
    /// Bytes read.
    #[serde(rename = "in")]
    pub read: u64,
    /// Bytes written.
    #[serde(rename = "out")]
    pub written: u64,
}

/// One second of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondReport {
    /// Its length. Only the last one may be shorter.
    pub length_ns: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered as expected.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The answered ones by tenths of the second.
    #[serde(default)]
    pub answered_tenths: [u64; 10],
    /// The median of the response times; up to a thirty-second too long.
    pub p50_ns: u64,
    /// The response time that 99 of 100 did not exceed; up to a thirty-second too long.
    pub p99_ns: u64,
}

/// The cost of measuring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorReport {
    /// CPU time of all threads, without polling in vain.
    pub cpu_ns: u64,
    /// The same per result of a request; null without one.
    pub cpu_per_request_ns: Option<f64>,
    /// Each thread.
    pub threads: Vec<ThreadReport>,
}

/// One generator thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// The core it was pinned to; null if it was not pinned.
    pub core: Option<u32>,
    /// Time on a core.
    pub cpu_ns: u64,
    /// The part of it spent polling in vain.
    pub spun_ns: u64,
    /// Time it waited for its core.
    pub waited_ns: u64,
    /// The longest stretch of that, sampled ten times per second.
    #[serde(default)]
    pub longest_wait_ns: u64,
    /// The share of its core it worked.
    pub busy_share: f64,
}

/// The resources that the server used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerUsage {
    /// The name of its program.
    pub name: String,
    /// Its processes.
    pub pids: Vec<u32>,
    /// How many threads it had.
    pub threads: u32,
    /// Time on all cores.
    pub cpu_ns: u64,
    /// The same per result of a request; null without one.
    pub cpu_per_request_ns: Option<f64>,
    /// The part of it in user mode; null if the run was too short to tell.
    pub user_per_request_ns: Option<f64>,
    /// The part of it in the kernel; null if the run was too short to tell.
    pub system_per_request_ns: Option<f64>,
    /// The share of its core that its busiest thread used.
    pub busiest_thread_share: f64,
    /// The share of the run in which the thread that waited most was ready without a core.
    #[serde(default)]
    pub waited_share: f64,
    /// Memory in RAM at the end.
    pub resident_bytes: u64,
}

/// Little's law: the number in use equals the rate times the duration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LittlesLaw {
    /// Whether it holds.
    pub holds: Holds,
    /// Requests that should be in flight at once; null if the plan does not determine them.
    pub expected: Option<f64>,
    /// Rate times mean service time; connects count if they are part of the work.
    pub measured: f64,
    /// The allowed difference; null if nothing is expected.
    pub tolerance: Option<f64>,
}

/// The result of the check of Little's law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Within the tolerance.
    Yes,
    /// Outside.
    No,
    /// An open loop, or too many failures.
    NotChecked,
}
