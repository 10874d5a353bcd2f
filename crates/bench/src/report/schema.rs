//! The report as stored.
//!
//! Owns the names and units of all fields; `docs/bench.md` documents them. Never changes the meaning of a field
//! without a new number in [`REPORT_SCHEMA`](crate::limits::REPORT_SCHEMA).

use serde::{Deserialize, Serialize};

use crate::host::HostFacts;
use crate::report::agent::AgentReport;
use crate::report::hold::HoldReport;
use crate::report::measured::{Ended, PlanReport};
use crate::report::own_writes::OwnWritesReport;
use crate::report::run::RunReport;
use crate::report::summary::Summary;
use crate::report::verdict::Verdict;

/// Everything about a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this format.
    pub schema: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When the first run began, in seconds since 1970-01-01 00:00 UTC.
    pub begun_unix_s: u64,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// Whether the whole plan was executed.
    pub ended: Ended,
    /// The plan.
    pub plan: PlanReport,
    /// Where it ran.
    pub host: HostFacts,
    /// The verdict.
    pub verdict: Verdict,
    /// The median of all runs, and how much the runs differ. Null without a run.
    pub summary: Option<Summary>,
    /// Each run.
    pub runs: Vec<RunReport>,
    /// The conditions under which it counts as failed.
    #[serde(default)]
    pub fail_if: Vec<ConditionReport>,
    /// The generators on other hosts that made the measurement; empty if this one did.
    #[serde(default)]
    pub agents: Vec<AgentReport>,
    /// Whether a client reads its own writes at other addresses of a store; null if that was not checked.
    pub own_writes: Option<OwnWritesReport>,
    /// The result of holding connections; null if not requested.
    pub hold: Option<HoldReport>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A condition with the figure that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionReport {
    /// As given.
    pub condition: String,
    /// The figure: nanoseconds, requests per second or a share; null if nothing was measured.
    pub measured: Option<f64>,
    /// Whether it was met: then the measurement has failed.
    pub met: bool,
    /// The figure in words.
    pub text: String,
}
