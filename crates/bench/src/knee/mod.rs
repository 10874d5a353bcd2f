//! The highest rate at which an objective holds.
//!
//! Owns the definition of an objective, and when a step violates it. [`search`] chooses the next rate.

mod html;
mod search;
mod text;

use serde::{Deserialize, Serialize};

pub use html::write_html;
pub use search::{End, KneeFound, SearchResult, search};
pub use text::write_text;

use crate::host::HostFacts;
use crate::limits::{KNEE_FAILED_SHARE_MAXIMUM, KNEE_SCHEMA};
use crate::report::figures::{count, duration, rate};
use crate::report::{
    Ended, Percentile, PlanReport, ReasonCode, Report, ResultTrust, RunReport, Tool, to_pretty_json,
};

/// An objective: a response time that a percentile must not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objective {
    /// Of the response times.
    pub percentile: Percentile,
    /// The maximum.
    pub limit_ns: u64,
}

/// The result of a search, step by step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeReport {
    /// The version of this format.
    pub schema: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When the first step began, in seconds since 1970-01-01 00:00 UTC.
    pub begun_unix_s: u64,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// The objectives.
    pub objectives: Vec<Objective>,
    /// The result of the search.
    pub found: SearchResult,
    /// The plan, between the lowest and the highest rate.
    pub plan: PlanReport,
    /// Where it ran.
    pub host: HostFacts,
    /// All steps in order.
    pub steps: Vec<KneeStep>,
}

/// One measurement at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeStep {
    /// Requests due per second.
    pub rate_per_s: f64,
    /// Its result.
    pub outcome: KneeFound,
    /// Why it did not hold.
    pub reasons: Vec<String>,
    /// Requests answered per second.
    pub answered_per_s: f64,
    /// Requests that failed.
    pub failed: u64,
    /// Response times at the percentiles of [`Percentile::ALL`], in nanoseconds.
    pub response_ns: Vec<u64>,
    /// Cores that the server used; null if it is not on this host or cannot be inspected.
    pub server_cores: Option<f64>,
}

impl KneeReport {
    /// The report of a search between two rates. What the steps have in common comes from the first report.
    pub fn of(
        objectives: &[Objective],
        [lowest, highest]: [f64; 2],
        found: SearchResult,
        first: Report,
        steps: Vec<KneeStep>,
    ) -> Self {
        Self {
            schema: KNEE_SCHEMA,
            tool: first.tool,
            begun_unix_s: first.begun_unix_s,
            command: first.command,
            objectives: objectives.to_vec(),
            found,
            plan: PlanReport {
                verb: "knee".to_owned(),
                rate_from_per_s: Some(lowest),
                rate_to_per_s: Some(highest),
                stages: Vec::new(),
                ..first.plan
            },
            host: first.host,
            steps,
        }
    }

    /// Whether the result can be trusted.
    pub fn state(&self) -> ResultTrust {
        match self.found.end {
            End::BrokenFromStart if self.is_silent() => ResultTrust::Invalid,
            End::Found | End::NeverBroke | End::BrokenFromStart => ResultTrust::Valid,
            End::GeneratorLimit | End::Stopped => ResultTrust::Invalid,
        }
    }

    /// The conclusion: a word, and an explanation.
    fn conclusion(&self) -> (&'static str, String) {
        let told = |per_second: Option<f64>| {
            per_second
                .map_or_else(|| "no rate".to_owned(), |value| format!("{} requests/s", rate(value)))
        };
        let (good, bad) = (told(self.found.last_good_per_s), told(self.found.first_bad_per_s));
        match self.found.end {
            // Even if the generator or its host was in doubt: there is nothing they could have distorted.
            End::BrokenFromStart | End::GeneratorLimit if self.is_silent() => {
                ("INVALID", format!("no request was answered at {bad}, the lowest rate tried"))
            }
            End::Found => ("KNEE", format!("holds at {good}, broken at {bad}")),
            End::NeverBroke => ("NO KNEE", format!("holds at {good}, the highest rate tried")),
            End::BrokenFromStart => ("NO KNEE", format!("broken at {bad}, the lowest rate tried")),
            End::GeneratorLimit => (
                "INVALID",
                format!(
                    "holds at {good}; at {bad} the generator or its host is the limit, not the server"
                ),
            ),
            End::Stopped
                if (self.found.last_good_per_s, self.found.first_bad_per_s) == (None, None) =>
            {
                ("PARTIAL", "stopped before any rate was known to hold or to break".to_owned())
            }
            End::Stopped => {
                ("PARTIAL", format!("stopped; last good rate {good}, first bad rate {bad}"))
            }
        }
    }

    /// The steps sorted by rate.
    fn by_rate(&self) -> Vec<&KneeStep> {
        let mut steps: Vec<&KneeStep> = self.steps.iter().collect();
        steps.sort_by(|left, right| left.rate_per_s.total_cmp(&right.rate_per_s));
        steps
    }

    /// Whether no step had an answer: then the rate is not what matters about the server.
    pub fn is_silent(&self) -> bool {
        self.steps.iter().all(|step| step.answered_per_s == 0.0)
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        to_pretty_json(self)
    }
}

impl KneeStep {
    /// Judges the measurement at a rate.
    pub fn of(rate_per_s: f64, report: &Report, objectives: &[Objective]) -> KneeStep {
        let broken = report.runs.iter().flat_map(|run| broken(run, objectives));
        let of_server: Vec<String> = reasons(report, is_of_server).chain(broken).collect();
        // A reason that only makes times longer casts no doubt on times that are short enough.
        let holds = of_server.is_empty();
        let doubts = |code| !is_of_server(code) && (!holds || !lengthens(code));
        let untrusted: Vec<String> = reasons(report, doubts).collect();
        let (mut outcome, reasons) = match (of_server.is_empty(), untrusted.is_empty()) {
            (true, true) => (KneeFound::Held, Vec::new()),
            (false, true) => (KneeFound::Broken, of_server),
            _ if is_unanswered(report) => (silence(report), [of_server, untrusted].concat()),
            (_, false) => (KneeFound::Untrusted, untrusted),
        };
        if report.ended == Ended::Interrupted {
            outcome = KneeFound::Stopped;
        }
        let run = report.runs.last();
        let times = |run: &RunReport| Percentile::ALL.map(|place| place.of(&run.response)).to_vec();
        let cores =
            |run: &RunReport| Some(run.server.as_ref()?.cpu_ns as f64 / run.wall_ns.max(1) as f64);
        KneeStep {
            rate_per_s,
            outcome,
            reasons,
            answered_per_s: run.map_or(0.0, |run| run.rate_per_s),
            failed: run.map_or(0, |run| run.requests.failed),
            response_ns: run.map(times).unwrap_or_default(),
            server_cores: run.and_then(cores),
        }
    }

    /// The response time at a percentile; `None` if nothing was answered.
    pub fn response_ns(&self, percentile: Percentile) -> Option<u64> {
        if self.answered_per_s == 0.0 {
            return None;
        }
        let place = Percentile::ALL.iter().position(|known| *known == percentile)?;
        self.response_ns.get(place).copied()
    }
}

/// The failures of the server: answers that were missing, late, or left over.
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
    // Requests in flight at the end have no time yet. As many as there are connections are not a backlog.
    let left_over = requests.in_flight_end.saturating_sub(requests.in_flight_start);
    let usual = (KNEE_FAILED_SHARE_MAXIMUM * asked).max(run.connections.asked as f64);
    if left_over as f64 > usual {
        reasons.push(format!("{} requests were left over", count(left_over)));
    }
    reasons
}

/// Whether no run had an answer.
fn is_unanswered(report: &Report) -> bool {
    report.runs.iter().all(|run| run.requests.answered == 0)
}

/// The side at fault when nothing was answered in a doubtful result: effects of the host on times and rates are no
/// excuse for the server, but a generator that hardly sent anything is.
fn silence(report: &Report) -> KneeFound {
    let is_excuse = |code| matches!(code, ReasonCode::GeneratorBusy | ReasonCode::SentLate);
    let is_excused = report.verdict.reasons.iter().any(|reason| is_excuse(reason.code));
    if is_excused { KneeFound::Untrusted } else { KneeFound::Broken }
}

/// Reasons of the verdict that the server caused.
fn is_of_server(code: ReasonCode) -> bool {
    matches!(
        code,
        ReasonCode::NothingAnswered | ReasonCode::ConnectionsMissing | ReasonCode::RateMissed
    )
}

/// Reasons that make times longer than the server's, and never shorter.
fn lengthens(code: ReasonCode) -> bool {
    matches!(
        code,
        ReasonCode::SentLate | ReasonCode::Starved | ReasonCode::GeneratorBusy | ReasonCode::Steal
    )
}

/// The reasons of the verdict of this kind.
fn reasons(report: &Report, is: impl Fn(ReasonCode) -> bool) -> impl Iterator<Item = String> {
    let reasons = report.verdict.reasons.iter();
    reasons.filter(move |reason| is(reason.code)).map(|reason| reason.text.clone())
}
