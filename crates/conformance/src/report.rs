//! Owns the results of a run as data. `table` prints them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::case::{CaseHead, RequirementLevel};

/// The reason of a failed case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseFailure {
    /// The expectation.
    pub expected: String,
    /// The behaviour that came instead.
    pub problem: String,
}

/// The outcome of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum CaseResult {
    /// The requirement is met.
    Passed,
    /// The requirement is not met.
    Failed(CaseFailure),
    /// It could not be tested.
    Skipped {
        /// The reason.
        reason: String,
    },
}

/// One case and its result.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Name of the case.
    pub id: String,
    /// The source of the requirement.
    pub section: String,
    /// How binding it is.
    pub level: RequirementLevel,
    /// The requirement.
    pub requirement: String,
    /// Its result.
    #[serde(flatten)]
    pub outcome: CaseResult,
    /// The bytes sent, escaped and bounded; empty where none were.
    pub sent: String,
    /// The bytes received, escaped and bounded.
    pub received: String,
}

impl CaseReport {
    pub(crate) fn new(
        case: &CaseHead<'_>,
        outcome: CaseResult,
        [sent, received]: [String; 2],
    ) -> Self {
        let CaseHead { id, section, level, requirement } = *case;
        let [id, section, requirement] = [id, section, requirement].map(str::to_owned);
        Self { id, section, level, requirement, outcome, sent, received }
    }
}

/// The number of cases by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaseCounts {
    /// Requirements met.
    pub passed: usize,
    /// Requirements not met.
    pub failed: usize,
    /// Requirements that could not be tested.
    pub skipped: usize,
}

impl CaseCounts {
    fn add(&mut self, outcome: &CaseResult) {
        match outcome {
            CaseResult::Passed => self.passed += 1,
            CaseResult::Failed(_) => self.failed += 1,
            CaseResult::Skipped { .. } => self.skipped += 1,
        }
    }

    /// All cases.
    pub fn total(&self) -> usize {
        self.passed + self.failed + self.skipped
    }
}

/// Which cases the text report shows in detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Those that failed.
    Failures,
    /// All that were played.
    Everything,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct ConformanceReport {
    /// The protocol of the requirements: `HTTP/1.1` or `HTTP/2`.
    pub protocol: &'static str,
    /// The server.
    pub target: String,
    /// All cases together.
    pub counts: CaseCounts,
    /// Cases by level.
    pub levels: BTreeMap<RequirementLevel, CaseCounts>,
    /// The cases, in the order of the suite.
    pub cases: Vec<CaseReport>,
}

impl ConformanceReport {
    pub(crate) fn new(protocol: &'static str, target: String, cases: Vec<CaseReport>) -> Self {
        let mut counts = CaseCounts::default();
        let mut levels: BTreeMap<RequirementLevel, CaseCounts> = BTreeMap::new();
        for case in &cases {
            counts.add(&case.outcome);
            levels.entry(case.level).or_default().add(&case.outcome);
        }
        Self { protocol, target, counts, levels, cases }
    }

    /// The cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &CaseReport> {
        self.cases.iter().filter(|case| matches!(case.outcome, CaseResult::Failed(_)))
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers are always JSON")
    }
}
