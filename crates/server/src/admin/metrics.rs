//! Metrics in the Prometheus text format, version 0.0.4.
//!
//! Owns the format. The rows are in `numbers`: counters end in `_total`, units stand in the name, every metric has
//! its help and type.

use std::fmt::Write;

use super::facts::Facts;
use super::numbers::{
    KILLS, Kind, LABELLED, Labelled, OF_ENGINES, OF_PAGES, OF_SCHEDULER, Row, together,
};
use super::round::Round;
use crate::message::SchedulerReport;

/// The media type of the format.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything.
pub(super) fn write(facts: &Facts, round: &Round) -> String {
    let mut out = String::with_capacity(32 * 1024);
    for row in OF_SCHEDULER {
        each(&mut out, row, answering(round).map(|(number, report)| (number, (row.read)(report))));
    }
    let pages = || answering(round).map(|(number, report)| (number, report.pages.as_ref()));
    let sums: Vec<_> = pages().map(|(number, pages)| (number, pages.map(together))).collect();
    for row in OF_PAGES {
        let sums = sums.iter();
        let values = sums.map(|(number, page)| (*number, page.as_ref().map_or(0, row.read)));
        each(&mut out, row, values);
    }
    for row in OF_ENGINES {
        each(&mut out, row, pages().map(|(number, pages)| (number, pages.map_or(0, row.read))));
    }
    for Labelled { label, row, read } in LABELLED {
        labelled(&mut out, row, label, round, |report| read(facts, report));
    }
    labelled(&mut out, &KILLS, "reason", round, |report| {
        report.pages.as_ref().map(|pages| pages.total).unwrap_or_default().kills().into()
    });
    process(&mut out, facts, round);
    out
}

/// A number of each scheduler.
fn each<T>(out: &mut String, row: &Row<T>, values: impl Iterator<Item = (usize, u64)>) {
    let name = row.name();
    head(out, &name, row.kind, row.help);
    for (scheduler, value) in values {
        line(out, &name, &format!("scheduler=\"{scheduler}\""), row.scaled(value));
    }
}

/// Numbers of each scheduler that have a label each.
fn labelled<T>(
    out: &mut String,
    row: &Row<T>,
    label: &str,
    round: &Round,
    read: impl Fn(&SchedulerReport) -> Vec<(&'static str, u64)>,
) {
    let name = row.name();
    head(out, &name, row.kind, row.help);
    for (scheduler, report) in answering(round) {
        for (value, number) in read(report) {
            let labels = format!("scheduler=\"{scheduler}\",{label}=\"{value}\"");
            line(out, &name, &labels, row.scaled(number));
        }
    }
}

fn process(out: &mut String, facts: &Facts, round: &Round) {
    let up = answering(round).count() as f64;
    head(out, "velodrome_schedulers_answering", Kind::Gauge, "Schedulers that answered in time.");
    line(out, "velodrome_schedulers_answering", "", up);
    head(out, "process_start_time_seconds", Kind::Gauge, "Start of the process since 1970.");
    line(out, "process_start_time_seconds", "", facts.started as f64);
    if let Ok(bytes) = sys::accounting::resident_bytes() {
        head(out, "process_resident_memory_bytes", Kind::Gauge, "Resident memory.");
        line(out, "process_resident_memory_bytes", "", bytes as f64);
    }
}

fn answering(round: &Round) -> impl Iterator<Item = (usize, &SchedulerReport)> {
    let numbered = round.reports.iter().enumerate();
    numbered.filter_map(|(number, report)| report.as_ref().map(|report| (number, report)))
}

fn head(out: &mut String, name: &str, kind: Kind, help: &str) {
    let kind = match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
    };
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("a String takes every text");
}

fn line(out: &mut String, name: &str, labels: &str, value: f64) {
    let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    writeln!(out, "{name}{braces} {value}").expect("a String takes every text");
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md"));

    fn table<T>(rows: &[Row<T>], below: &str) -> String {
        let one = |row: &Row<T>| {
            let kind = if row.kind == Kind::Counter { "counter" } else { "gauge" };
            format!("| `{}` | {kind} | `{below}{}` | {} |\n", row.name(), row.stats, row.help)
        };
        rows.iter().map(one).collect()
    }

    /// The table of docs/metrics.md. A failure prints the right table.
    #[test]
    fn every_number_is_documented_as_it_is() {
        let mut rows = table(OF_SCHEDULER, "");
        for Labelled { label, row, .. } in LABELLED {
            let kind = if row.kind == Kind::Counter { "counter" } else { "gauge" };
            let (name, stats, help) = (row.name(), row.stats, row.help);
            rows += &format!("| `{name}`, label `{label}` | {kind} | `{stats}` | {help} |\n");
        }
        rows += &table(OF_PAGES, "pages.");
        rows += &table(&[KILLS], "pages.").replace("total` |", "total`, label `reason` |");
        rows += &table(OF_ENGINES, "pages.");
        assert!(DOCUMENT.contains(&rows), "docs/metrics.md has to contain:\n{rows}");
    }

    /// Every number that is counted has a row: a struct's fields are read from how it is shown.
    #[test]
    fn whatever_is_counted_is_told() {
        let source = include_str!("numbers.rs");
        let counted = [
            format!("{:?}", runtime::stats::Stats::default()),
            format!("{:?}", http::HttpStats::default()),
            format!("{:?}", files::cache::CacheStats::default()),
            format!("{:?}", pages::PageReport::default()),
        ]
        .join(", ");
        let words = counted.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
        let fields: Vec<&str> = words.filter_map(|word| word.strip_suffix(':')).collect();
        assert!(fields.len() > 60, "{fields:?}");
        // Names, and parts of a sum that has its own row.
        let others =
            ["page", "longest_turn_kind", "mail", "sampled", "counts", "used", "over_budget"];
        let kills = ["over_memory", "stalled", "late"];
        let is_read = |field: &str| {
            source
                .split(&format!(".{field}"))
                .skip(1)
                .any(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
        };
        for field in fields {
            let is_told = is_read(field) || others.contains(&field);
            assert!(is_told || kills.contains(&field), "`{field}` is counted and told nowhere");
        }
    }
}
