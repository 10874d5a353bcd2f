//! The table of times.
//!
//! Owns its rows and columns. With several runs, a figure of service and response time is the median of the runs, and
//! the row below shows how much they differ.

use std::fmt::{self, Write};

use crate::report::figures::{NAME_COLUMNS, duration, percent};
use crate::report::run::{LatencyReport, RunReport};
use crate::report::schema::Report;
use crate::report::summary::{FigureSpread, LatencySummary, Summary};

/// The columns, in the order of [`Row`].
pub(in crate::report) const COLUMNS: [&str; 9] =
    ["min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean"];

/// Width of a column: the longest time, `99.9 us`, and its distance.
const COLUMN_WIDTH: usize = 9;

/// The cells of a row.
pub(in crate::report) type Row<T> = [T; COLUMNS.len()];

/// Writes the table.
pub(super) fn write(
    report: &Report,
    summary: &Summary,
    run: &RunReport,
    out: &mut impl Write,
) -> fmt::Result {
    line(out, "", COLUMNS.map(str::to_owned))?;
    summarised(report, "service", &summary.service, out)?;
    if report.plan.rate_from_per_s.is_some() {
        summarised(report, "response", &summary.response, out)?;
    } else {
        writeln!(
            out,
            "{:NAME_COLUMNS$}  as service: in a closed loop a request is due when it is sent",
            "response"
        )?;
    }
    single("connect", &run.connect, out)?;
    if let Some(tls) = &run.tls {
        single("handshake", &tls.handshake, out)?;
    }
    single("sent late", &run.late, out)
}

fn summarised(
    report: &Report,
    name: &str,
    summary: &LatencySummary,
    out: &mut impl Write,
) -> fmt::Result {
    let spreads = spreads(summary);
    line(out, name, spreads.map(|spread| duration(spread.median)))?;
    if report.runs.len() > 1 {
        line(out, "  spread", spreads.map(|spread| percent(spread.spread)))?;
    }
    Ok(())
}

fn single(name: &str, latency: &LatencyReport, out: &mut impl Write) -> fmt::Result {
    if latency.count == 0 {
        return Ok(());
    }
    line(out, name, figures(latency).map(duration))
}

fn line(out: &mut impl Write, name: &str, cells: Row<String>) -> fmt::Result {
    write!(out, "{name:NAME_COLUMNS$}")?;
    for cell in cells {
        write!(out, "{cell:>COLUMN_WIDTH$}")?;
    }
    writeln!(out)
}

/// The figures of a summary, in the order of [`COLUMNS`].
pub(in crate::report) fn spreads(summary: &LatencySummary) -> Row<FigureSpread> {
    [
        summary.min_ns,
        summary.p50_ns,
        summary.p90_ns,
        summary.p95_ns,
        summary.p99_ns,
        summary.p99_9_ns,
        summary.p99_99_ns,
        summary.max_ns,
        summary.mean_ns,
    ]
}

/// The figures of a distribution, in the order of [`COLUMNS`].
pub(in crate::report) fn figures(latency: &LatencyReport) -> Row<f64> {
    [
        latency.min_ns as f64,
        latency.p50_ns as f64,
        latency.p90_ns as f64,
        latency.p95_ns as f64,
        latency.p99_ns as f64,
        latency.p99_9_ns as f64,
        latency.p99_99_ns as f64,
        latency.max_ns as f64,
        latency.mean_ns,
    ]
}
