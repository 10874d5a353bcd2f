//! The highest rate at which an objective holds.
//!
//! Owns what an objective is and when a step breaks it. Which rate is tried next is in [`search`].

mod search;
mod text;

use serde::{Deserialize, Serialize};

pub use search::{End, Found, Outcome, search};
pub use text::write_text;

use crate::limits::{KNEE_FAILED_SHARE_MAXIMUM, REPORT_SCHEMA};
use crate::report::text::{count, duration};
use crate::report::{Ended, Percentile, PlanReport, ReasonCode, Report, RunReport};

/// What is to hold: a response time that a percentile does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objective {
    /// Of the response times.
    pub percentile: Percentile,
    /// At most this.
    pub limit_ns: u64,
}

/// What a search came to, step by step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeReport {
    /// The number of this form.
    pub schema: u32,
    /// What was to hold.
    pub objectives: Vec<Objective>,
    /// What the search came to.
    pub found: Found,
    /// What was asked in the first step; the others differ in their rates.
    pub plan: Option<PlanReport>,
    /// All steps, in their order.
    pub steps: Vec<Step>,
}

/// One measurement at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Requests that were due in a second.
    pub rate_per_s: f64,
    /// What it came to.
    pub outcome: Outcome,
    /// Why it did not hold.
    pub reasons: Vec<String>,
    /// Requests that were answered in a second.
    pub answered_per_s: f64,
    /// Requests that failed.
    pub failed: u64,
    /// Response times at the percentiles of [`Percentile::ALL`], in nanoseconds.
    pub response_ns: Vec<u64>,
    /// Cores the server used; null when it is not on this host or cannot be seen.
    pub server_cores: Option<f64>,
}

impl KneeReport {
    /// Of a search and its steps.
    pub fn of(
        objectives: &[Objective],
        found: Found,
        plan: Option<PlanReport>,
        steps: Vec<Step>,
    ) -> Self {
        let objectives = objectives.to_vec();
        Self { schema: REPORT_SCHEMA, objectives, found, plan, steps }
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("no map with strange keys, no failing writer")
    }
}

impl Step {
    /// Judges the measurement at a rate.
    pub fn of(rate_per_s: f64, report: &Report, objectives: &[Objective]) -> Step {
        let mut reasons: Vec<String> = report
            .runs
            .iter()
            .flat_map(|run| broken(run, objectives))
            .chain(of_server(report))
            .collect();
        let mut outcome = if reasons.is_empty() { Outcome::Held } else { Outcome::Broken };
        let untrusted: Vec<String> = untrusted(report).collect();
        if !untrusted.is_empty() {
            (outcome, reasons) = (Outcome::Untrusted, untrusted);
        }
        if report.ended == Ended::Interrupted {
            outcome = Outcome::Stopped;
        }
        let run = report.runs.last();
        let times = |run: &RunReport| Percentile::ALL.map(|place| place.of(&run.response)).to_vec();
        let cores =
            |run: &RunReport| Some(run.server.as_ref()?.cpu_ns as f64 / run.wall_ns.max(1) as f64);
        Step {
            rate_per_s,
            outcome,
            reasons,
            answered_per_s: run.map_or(0.0, |run| run.rate_per_s),
            failed: run.map_or(0, |run| run.requests.failed),
            response_ns: run.map(times).unwrap_or_default(),
            server_cores: run.and_then(cores),
        }
    }

    /// The response time at a percentile.
    pub fn response_ns(&self, percentile: Percentile) -> Option<u64> {
        let place = Percentile::ALL.iter().position(|known| *known == percentile)?;
        self.response_ns.get(place).copied()
    }
}

/// What the server did not do: answers that were missing, late, or left over.
fn broken(run: &RunReport, objectives: &[Objective]) -> Vec<String> {
    let mut reasons: Vec<String> = objectives
        .iter()
        .map(|objective| (objective, objective.percentile.of(&run.response)))
        .filter(|(objective, time_ns)| *time_ns > objective.limit_ns)
        .map(|(objective, time_ns)| {
            let limit = duration(objective.limit_ns as f64);
            format!("{} {} (at most {limit})", objective.percentile, duration(time_ns as f64))
        })
        .collect();
    let requests = &run.requests;
    let asked = requests.asked.max(1) as f64;
    let strictest = objectives.iter().map(|objective| objective.percentile.share_beyond());
    let allowed = strictest.fold(KNEE_FAILED_SHARE_MAXIMUM, f64::min);
    if requests.failed as f64 > allowed * asked {
        reasons.push(format!("{} requests failed", count(requests.failed)));
    }
    // What is on its way at the end has no time yet. As many as there are connections are no backlog.
    let left_over = requests.in_flight_end.saturating_sub(requests.in_flight_start);
    let usual = (KNEE_FAILED_SHARE_MAXIMUM * asked).max(run.connections.asked as f64);
    if left_over as f64 > usual {
        reasons.push(format!("{} requests were left over", count(left_over)));
    }
    reasons
}

/// Reasons of the verdict that are the server's doing.
fn is_of_server(code: ReasonCode) -> bool {
    matches!(code, ReasonCode::NothingAnswered | ReasonCode::ConnectionsMissing)
}

fn of_server(report: &Report) -> impl Iterator<Item = String> {
    let reasons = report.verdict.reasons.iter();
    reasons.filter(|reason| is_of_server(reason.code)).map(|reason| reason.text.clone())
}

fn untrusted(report: &Report) -> impl Iterator<Item = String> {
    let reasons = report.verdict.reasons.iter();
    reasons.filter(|reason| !is_of_server(reason.code)).map(|reason| reason.text.clone())
}
