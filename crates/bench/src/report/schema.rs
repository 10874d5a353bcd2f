//! The report as it is stored.
//!
//! Owns the names and units of all fields; `docs/bench.md` documents them. Never changes the meaning of a field
//! without a new number in [`REPORT_SCHEMA`](crate::limits::REPORT_SCHEMA).

use serde::{Deserialize, Serialize};

use crate::host::HostFacts;
use crate::report::hold::HoldReport;
use crate::report::measured::{Ended, PlanReport};
use crate::report::run::RunReport;
use crate::report::summary::Summary;
use crate::report::verdict::Verdict;

/// Everything that is known about a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The number of this form.
    pub schema: u32,
    /// Who wrote it.
    pub tool: Tool,
    /// When the first run began, in seconds since 1970-01-01 00:00 UTC.
    pub begun_unix_s: u64,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// Whether all of the plan was done.
    pub ended: Ended,
    /// What was asked.
    pub plan: PlanReport,
    /// Where it ran.
    pub host: HostFacts,
    /// What may be concluded from it.
    pub verdict: Verdict,
    /// The median of all runs, and how far they are apart. Null without a run.
    pub summary: Option<Summary>,
    /// Each run.
    pub runs: Vec<RunReport>,
    /// The conditions under which it counts as failed.
    #[serde(default)]
    pub fail_if: Vec<ConditionReport>,
    /// What holding connections came to; null where that was not asked.
    #[serde(default)]
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
    /// As it was given.
    pub condition: String,
    /// The figure: nanoseconds, requests a second or a share; null when nothing was measured.
    pub measured: Option<f64>,
    /// Whether it was met: then the measurement has failed.
    pub met: bool,
    /// The figure in words.
    pub text: String,
}
