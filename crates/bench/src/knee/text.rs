//! A search for a knee as text for a terminal: the table of its steps, latency against load, and
//! the result.

use std::fmt::{self, Write};

use super::{KneeFound, KneeReport, KneeStep};
use crate::report::Percentile;
use crate::report::figures::{count, duration, rate};

/// Columns and lines of the plot.
const PLOT: (usize, usize) = (60, 12);

/// Writes the search.
///
/// # Errors
/// Those of the writer.
pub fn write_text(report: &KneeReport, out: &mut impl Write) -> fmt::Result {
    let steps = report.by_rate();
    writeln!(
        out,
        "{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}{:>14}",
        "rate/s", "answered/s", "p50", "p99", "p99.9", "failed", "server cores"
    )?;
    for step in &steps {
        line(out, step)?;
    }
    writeln!(out)?;
    plot(out, report, &steps)?;
    let (word, words) = report.conclusion();
    writeln!(out, "{word}: {words}")
}

fn line(out: &mut impl Write, step: &KneeStep) -> fmt::Result {
    let time = |percentile| {
        step.response_ns(percentile).map_or_else(|| "-".to_owned(), |time| duration(time as f64))
    };
    write!(out, "{:>12}{:>12}", rate(step.rate_per_s), rate(step.answered_per_s))?;
    for percentile in [Percentile::P50, Percentile::P99, Percentile::P999] {
        write!(out, "{:>10}", time(percentile))?;
    }
    let cores = step.server_cores.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}"));
    write!(out, "{:>10}{cores:>14}  {}", count(step.failed), word(step.outcome))?;
    let reasons = step.reasons.join("; ");
    if reasons.is_empty() { writeln!(out) } else { writeln!(out, ": {reasons}") }
}

/// The result of a step, in words.
pub(super) fn word(outcome: KneeFound) -> &'static str {
    match outcome {
        KneeFound::Held => "held",
        KneeFound::Broken => "broken",
        KneeFound::Untrusted => "not to be trusted",
        KneeFound::Stopped => "stopped",
    }
}

fn mark(outcome: KneeFound) -> char {
    match outcome {
        KneeFound::Held => 'o',
        KneeFound::Broken => 'x',
        KneeFound::Untrusted | KneeFound::Stopped => '?',
    }
}

/// The first objective's percentile against the rate, with a logarithmic time axis.
fn plot(out: &mut impl Write, report: &KneeReport, steps: &[&KneeStep]) -> fmt::Result {
    let Some(objective) = report.objectives.first() else { return Ok(()) };
    let points: Vec<(f64, f64, char)> = steps
        .iter()
        .filter_map(|step| {
            let time_ns = step.response_ns(objective.percentile)?.max(1) as f64;
            Some((step.rate_per_s, time_ns, mark(step.outcome)))
        })
        .collect();
    let limit_ns = objective.limit_ns.max(1) as f64;
    let times = || points.iter().map(|point| point.1).chain([limit_ns]);
    let (low, high) = (times().fold(f64::MAX, f64::min), times().fold(1.0, f64::max));
    let most = points.iter().map(|point| point.0).fold(1.0, f64::max);
    let (columns, lines) = PLOT;
    let place =
        |share: f64, places: usize| (share.clamp(0.0, 1.0) * (places - 1) as f64).round() as usize;
    let height = |time: f64| place((time / low).ln() / (high / low).ln().max(1e-9), lines);
    let mut grid = vec![vec![' '; columns]; lines];
    grid[height(limit_ns)].fill('-');
    for (at, time, mark) in points {
        grid[height(time)][place(at / most, columns)] = mark;
    }
    writeln!(out, "{} of response time (o held, x broken, - objective)", objective.percentile)?;
    for (number, row) in grid.iter().enumerate().rev() {
        let time = low * (high / low).powf(number as f64 / (lines - 1) as f64);
        writeln!(out, "{:>10} |{}", duration(time), row.iter().collect::<String>().trim_end())?;
    }
    writeln!(out, "{:>10} +{}", "", "-".repeat(columns))?;
    writeln!(out, "{:>12}{:>width$}\n", "0", format!("{}/s", rate(most)), width = columns)
}
