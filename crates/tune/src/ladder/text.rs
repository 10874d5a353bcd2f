//! A ladder as text for a terminal: the steps as bars, and the gain of each step.

use std::fmt::{self, Write};

use bench::compare::{Comparison, Difference, Judgement};
use bench::report::Ended;
use bench::report::figures::{duration, numbered, rate};

use super::{Conclusion, LadderReport, StepReport, telling};

/// Columns of the longest bar.
const BAR: usize = 24;

/// Columns of a gain.
const GAIN: usize = 37;

/// Columns of a name.
const NAME: usize = 26;

/// Writes the ladder.
///
/// # Errors
/// Those of the writer.
pub fn write_text(report: &LadderReport, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "{}", subject(report))?;
    writeln!(out, "server: {}", report.server)?;
    writeln!(out, "host: {}", noise(report))?;
    writeln!(out)?;
    let (cpu, change) = ("CPU/request", "against the state before");
    writeln!(out, "{:NAME$}{:>10}{:>10}{cpu:>12}  {change}", "", "req/s", "p99")?;
    let highest = stairs(report).map(|stair| stair.rate).fold(1.0, f64::max);
    for stair in stairs(report) {
        let bar = "█".repeat((stair.rate / highest * BAR as f64).round() as usize);
        let (rate, p99) = (rate(stair.rate), duration(stair.p99_ns));
        let cpu = stair.cpu();
        let line = format!(
            "{:NAME$}{rate:>10}{p99:>10}{cpu:>12}  {:GAIN$}  {bar}",
            stair.name, stair.gain
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    for step in &report.steps {
        write_remarks(out, step)?;
    }
    writeln!(out)?;
    if let Some(total) = &report.total {
        writeln!(out, "all that was kept, against the baseline: {}", gain(total))?;
    } else if report.ended == Ended::Complete {
        writeln!(out, "No step is shown to be worth anything here.")?;
    }
    for without in &report.without {
        writeln!(out, "all without {}: {}", without.name, gain(&without.comparison))?;
    }
    if report.ended == Ended::Interrupted {
        writeln!(out, "PARTIAL: stopped early; the measurements so far are shown")?;
    }
    Ok(())
}

fn write_remarks(out: &mut impl Write, step: &StepReport) -> fmt::Result {
    if step.conclusion == Conclusion::Refused {
        writeln!(out, "{}: cannot be made here: {}", step.name, step.refused)?;
    }
    if step.thrown_away > 0 {
        let runs = numbered(u64::from(step.thrown_away), "run");
        writeln!(out, "{}: {runs} not valid and thrown away: {}", step.name, step.invalid)?;
    }
    Ok(())
}

/// The load, and the number of runs.
pub(super) fn subject(report: &LadderReport) -> String {
    let plan = &report.plan;
    let targets: Vec<String> =
        plan.targets.iter().map(|target| format!("{} {}", target.method, target.url)).collect();
    let pace = match plan.rate_from_per_s {
        Some(per_second) => format!("{} requests/s", rate(per_second)),
        None => "as fast as answers come".to_owned(),
    };
    format!(
        "{}: {}, {}, {} of {}, each in turn with the state before",
        targets.join(", "),
        numbered(plan.connections, "connection"),
        pace,
        numbered(u64::from(report.rounds), "run"),
        duration(plan.duration_ns as f64)
    )
}

/// The noise of this host, in words.
pub(super) fn noise(report: &LadderReport) -> String {
    let interval = figure(&report.noise, "rate").and_then(|rate| rate.interval);
    let noise = match interval {
        Some(ends) => format!("the same server twice: x{:.3} to x{:.3}", ends.low, ends.high),
        None => "the noise is not known".to_owned(),
    };
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".to_owned());
    format!("{}, {}; {noise}", known(&report.host.kernel), known(&report.host.cpu_model))
}

/// One bar. Plain data.
pub(crate) struct Stair {
    pub(crate) name: String,
    pub(crate) rate: f64,
    pub(crate) p99_ns: f64,
    /// The server's CPU time per request; `None` if it cannot be measured.
    pub(crate) cpu_ns: Option<f64>,
    pub(crate) gain: String,
    /// Whether the step was kept.
    pub(crate) is_kept: bool,
}

impl Stair {
    pub(super) fn cpu(&self) -> String {
        self.cpu_ns.map_or_else(|| "-".to_owned(), duration)
    }
}

/// The baseline and all steps that could be measured.
pub(super) fn stairs(report: &LadderReport) -> impl Iterator<Item = Stair> + '_ {
    let first = |name: &str| figure(&report.noise, name).and_then(|one| one.first);
    let baseline = Stair {
        name: "baseline".to_owned(),
        rate: first("rate").unwrap_or(0.0),
        p99_ns: first("response p99").unwrap_or(0.0),
        cpu_ns: first("server CPU"),
        gain: String::new(),
        is_kept: true,
    };
    let steps = report.steps.iter().filter_map(|step| {
        let comparison = step.comparison.as_ref()?;
        let second = |name: &str| figure(comparison, name).and_then(|one| one.second);
        let taken_back = match step.conclusion {
            Conclusion::Kept => "",
            _ => ", taken back",
        };
        Some(Stair {
            name: step.name.clone(),
            rate: second("rate")?,
            p99_ns: second("response p99").unwrap_or(0.0),
            cpu_ns: second("server CPU"),
            gain: format!("{}{taken_back}", gain(comparison)),
            is_kept: step.conclusion == Conclusion::Kept,
        })
    });
    [baseline].into_iter().chain(steps)
}

/// The ratio of the most telling figure, with its interval.
pub(super) fn gain(comparison: &Comparison) -> String {
    match comparison.overall {
        Judgement::TooFewRuns => return "too few valid runs".to_owned(),
        Judgement::NoDifference => return "no significant difference".to_owned(),
        Judgement::Faster | Judgement::Slower | Judgement::Mixed => {}
    }
    let shown =
        telling(comparison).and_then(|shown| Some((&*shown.figure, shown.ratio?, shown.interval?)));
    let Some((figure, ratio, ends)) = shown else {
        return "no significant difference".to_owned();
    };
    let name = if figure == "rate" { String::new() } else { format!("{figure} ") };
    format!("{name}x{ratio:.2} ({:.2} to {:.2})", ends.low, ends.high)
}

fn figure<'a>(comparison: &'a Comparison, name: &str) -> Option<&'a Difference> {
    comparison.figures.iter().find(|figure| figure.figure == name)
}
