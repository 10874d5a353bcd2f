//! Whether two results differ: intervals by bootstrap, and a rank test.
//!
//! Owns what is compared and the conclusion. Never concludes from too few runs, from results that
//! cannot be trusted, or from a difference within the host's noise.

mod bootstrap;
mod figure;
mod rank;
#[cfg(test)]
mod tests;
mod text;

use serde::{Deserialize, Serialize};

pub use bootstrap::{Interval, interval, median};
pub use figure::Figure;
pub use rank::{probability, smallest_probability};
pub use text::write_text;

use crate::host::HostFacts;
use crate::limits::{COMPARE_RUNS_MINIMUM, REPORT_SCHEMA, SIGNIFICANCE};
use crate::report::{Ended, PlanReport, Report, ResultTrust, RunReport, to_pretty_json};
use figure::Better;

/// The seed of the resampling: the same runs have the same interval.
const SEED: u64 = 1;

/// One side of a comparison: all its runs.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its results, in order.
    pub reports: &'a [Report],
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of this format.
    pub schema: u32,
    /// Whether all rounds were measured. If it was stopped, only complete rounds are compared.
    pub ended: Ended,
    /// The side with which the other is compared: A.
    pub first: SideReport,
    /// The compared side: B.
    pub second: SideReport,
    /// Whether both sides can be trusted.
    pub state: ResultTrust,
    /// The conclusion about B from all judged figures together.
    pub overall: Judgement,
    /// Each figure.
    pub figures: Vec<Difference>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// Its name.
    pub name: String,
    /// The number of runs.
    pub runs: u64,
    /// Answered requests in all runs.
    pub answered: u64,
    /// Failed requests in all runs.
    pub failed: u64,
    /// Every reason not to trust it.
    pub reasons: Vec<String>,
    /// Where it ran; null without a run.
    pub host: Option<HostFacts>,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Its name: `rate`, `service p99`, `response p99.9`.
    pub figure: String,
    /// The median of the runs of A: requests per second, or nanoseconds. Null without a run.
    pub first: Option<f64>,
    /// The median of the runs of B. Null without a run.
    pub second: Option<f64>,
    /// The ratio of B to A; null if A is zero, and without a run.
    pub ratio: Option<f64>,
    /// The range that contains the ratio in 95 of 100 cases; null without a ratio.
    pub interval: Option<Interval>,
    /// The probability of an order this uneven if both sides are equal.
    pub probability: f64,
    /// The factor by which A may differ from itself; null if that was not measured.
    pub noise: Option<f64>,
    /// Whether the overall verdict uses it.
    pub judged: bool,
    /// The conclusion about B from this figure alone.
    pub judgement: Judgement,
}

/// A conclusion about B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// It is better.
    Faster,
    /// It is worse.
    Slower,
    /// It is better in one figure and worse in another.
    Mixed,
    /// No difference was shown.
    NoDifference,
    /// There are too few runs to show anything.
    TooFewRuns,
}

impl Judgement {
    /// Whether B is worse in some figure.
    pub fn is_worse(self) -> bool {
        matches!(self, Self::Slower | Self::Mixed)
    }
}

impl Comparison {
    /// Compares B with A. `noise` is a comparison of A with itself.
    pub fn of(
        first: Side<'_>,
        second: Side<'_>,
        noise: Option<&Comparison>,
        ended: Ended,
    ) -> Comparison {
        let plan = first.reports.first().map(|report| &report.plan);
        let figures: Vec<Difference> = Figure::all()
            .filter_map(|figure| {
                let values = |side: Side<'_>| side.runs().map(|run| figure.of(run)).collect();
                let judged = plan.is_some_and(|plan| figure.is_judged(plan));
                let values: [Option<Vec<f64>>; 2] = [values(first), values(second)];
                // A figure that one run lacks is left out of the comparison.
                let [first, second] = values;
                Some(difference(figure, &[first?, second?], judged, noise))
            })
            .collect();
        let sizes = [first.runs().count(), second.runs().count()];
        let sides = [first.report(), second.report()];
        let is_valid = |side: Side<'_>| {
            !side.reports.is_empty()
                && side.reports.iter().all(|report| report.verdict.state == ResultTrust::Valid)
        };
        let is_valid = is_valid(first) && is_valid(second);
        let overall = overall(&figures, sizes);
        let notes = notes(first, second, &figures, sizes, overall);
        let [first, second] = sides;
        Comparison {
            schema: REPORT_SCHEMA,
            ended,
            first,
            second,
            state: if is_valid { ResultTrust::Valid } else { ResultTrust::Invalid },
            overall,
            figures,
            notes,
        }
    }

    /// The comparison as JSON.
    pub fn to_json(&self) -> String {
        to_pretty_json(self)
    }
}

impl<'a> Side<'a> {
    fn runs(self) -> impl Iterator<Item = &'a RunReport> {
        self.reports.iter().flat_map(|report| &report.runs)
    }

    fn report(self) -> SideReport {
        let reasons = self.reports.iter().flat_map(|report| &report.verdict.reasons);
        SideReport {
            name: self.name.to_owned(),
            runs: self.runs().count() as u64,
            answered: self.runs().map(|run| run.requests.answered).sum(),
            failed: self.runs().map(|run| run.requests.failed).sum(),
            reasons: reasons.map(|reason| reason.text.clone()).collect(),
            host: self.reports.first().map(|report| report.host.clone()),
        }
    }
}

fn difference(
    figure: Figure,
    [first, second]: &[Vec<f64>; 2],
    judged: bool,
    noise: Option<&Comparison>,
) -> Difference {
    let name = figure.to_string();
    let measured = noise.and_then(|noise| noise.figures.iter().find(|known| known.figure == name));
    let noise = measured.and_then(|same| same.interval).map(|interval| interval.reach());
    let medians = [first, second].map(|values| median(values));
    let known = medians[0].zip(medians[1]).filter(|(first, _)| *first > 0.0);
    let mut difference = Difference {
        figure: name,
        first: medians[0],
        second: medians[1],
        ratio: known.map(|(first, second)| second / first),
        interval: interval(first, second, SEED),
        probability: probability(first, second),
        noise,
        judged,
        judgement: Judgement::TooFewRuns,
    };
    if first.len().min(second.len()) >= COMPARE_RUNS_MINIMUM {
        difference.judgement = judgement(&difference, figure.better());
    }
    difference
}

/// A difference must be rare if both sides are equal, be visible in the interval too, and exceed the host's noise.
fn judgement(difference: &Difference, better: Better) -> Judgement {
    let Some((ratio, interval)) = difference.ratio.zip(difference.interval) else {
        return Judgement::NoDifference;
    };
    let is_rare = difference.probability < SIGNIFICANCE && !interval.contains(1.0);
    let size = ratio.max(1.0 / ratio);
    if !is_rare || difference.noise.is_some_and(|noise| size <= noise) {
        return Judgement::NoDifference;
    }
    if (ratio > 1.0) == (better == Better::More) { Judgement::Faster } else { Judgement::Slower }
}

/// Several figures are compared, and each may differ by chance: Holm's procedure ("A simple sequentially rejective
/// multiple test procedure", Scandinavian Journal of Statistics 6, 1979) keeps the chance that any does at 5 %.
fn overall(figures: &[Difference], sizes: [usize; 2]) -> Judgement {
    let mut judged: Vec<&Difference> = figures.iter().filter(|figure| figure.judged).collect();
    if is_too_small(judged.len(), sizes) {
        return Judgement::TooFewRuns;
    }
    judged.sort_by(|left, right| left.probability.total_cmp(&right.probability));
    let count = judged.len();
    let shown = judged.iter().enumerate().take_while(|(before, figure)| {
        figure.probability * ((count - before) as f64) < SIGNIFICANCE
    });
    let mut overall = Judgement::NoDifference;
    for (_, figure) in shown {
        overall = match (overall, figure.judgement) {
            (before, Judgement::NoDifference | Judgement::TooFewRuns) => before,
            (Judgement::NoDifference, one) => one,
            (before, one) if before == one => one,
            _ => Judgement::Mixed,
        };
    }
    overall
}

/// Whether even a complete order of this many runs cannot show anything in one of this many figures.
fn is_too_small(judged: usize, [first, second]: [usize; 2]) -> bool {
    let smallest = smallest_probability(first, second) * judged.max(1) as f64;
    first.min(second) < COMPARE_RUNS_MINIMUM || smallest >= SIGNIFICANCE
}

fn notes(
    first: Side<'_>,
    second: Side<'_>,
    figures: &[Difference],
    sizes: [usize; 2],
    overall: Judgement,
) -> Vec<String> {
    let mut notes = Vec::new();
    if overall == Judgement::TooFewRuns {
        let judged = figures.iter().filter(|figure| figure.judged).count();
        let enough = (COMPARE_RUNS_MINIMUM..).find(|runs| !is_too_small(judged, [*runs, *runs]));
        notes.push(format!(
            "{} and {} runs are too few: nothing can be significant; take {} of each",
            sizes[0],
            sizes[1],
            enough.unwrap_or(usize::MAX)
        ));
    }
    let plans = first.reports.iter().chain(second.reports).map(|report| &report.plan);
    let mut asked = plans.map(asked);
    if asked.next().is_some_and(|one| asked.any(|other| other != one)) {
        notes
            .push("not the same was asked: the plans differ in more than their targets".to_owned());
    }
    notes.extend(encryption(first, second).map(str::to_owned));
    let hosts = first.reports.iter().chain(second.reports).map(|report| &report.host);
    let mut hosts = hosts.map(|host| (&host.kernel, &host.cpu_model, &host.cpus_allowed));
    if hosts.next().is_some_and(|one| hosts.any(|other| other != one)) {
        notes.push("not on the same host: kernels, processors or cores differ".to_owned());
    }
    notes
}

/// How the encryption of the sides differs.
fn encryption(first: Side<'_>, second: Side<'_>) -> Option<&'static str> {
    let of = |side: Side<'_>| Some(side.reports.first()?.plan.tls.as_ref()?.handshakes.clone());
    match (of(first), of(second)) {
        (Some(_), None) => Some("A is encrypted and B is not"),
        (None, Some(_)) => Some("B is encrypted and A is not"),
        (Some(one), Some(other)) if one != other => {
            Some("one side asked for full handshakes and the other for resumed ones")
        }
        _ => None,
    }
}

/// The parts that must be equal on both sides: everything except the targets, the number of runs, the seed, and the
/// encryption, whose difference has a note of its own.
fn asked(plan: &PlanReport) -> PlanReport {
    PlanReport { targets: Vec::new(), runs: 0, seed: 0, tls: None, ..plan.clone() }
}
