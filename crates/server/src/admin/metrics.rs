//! Metrics in the Prometheus text format, version 0.0.4.
//!
//! Owns the format; the content comes from `numbers`. Counters end in `_total`, units are part of
//! the name, and every metric has help and type.

use metric::{Metric, MetricKind, MetricUnit};
use pages::{EngineMemory, PageReport};

use super::certificates::Certificates;
use super::durations;
use super::exposition::{head, line};
use super::facts::StartFacts;
use super::numbers::{
    KILLS, LABELLED, Labelled, Number, of_engines, of_page, of_scheduler, together,
};
use super::round::Round;
use crate::message::SchedulerReport;
use crate::upstream_report::NUMBERS;

/// The media type of the format.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes all metrics.
pub(super) fn write<'r>(
    facts: &'r StartFacts,
    round: &'r Round,
    certificates: &Certificates,
) -> String {
    let mut out = String::with_capacity(32 * 1024);
    each(&mut out, round, of_scheduler);
    each(&mut out, round, |report| {
        of_page(&report.pages.as_ref().map_or_else(PageReport::default, together))
    });
    each(&mut out, round, |report| {
        of_engines(&report.pages.as_ref().map_or_else(EngineMemory::default, |pages| pages.memory))
    });
    for Labelled { label, metric, read } in LABELLED {
        labelled(&mut out, metric, label, round, |report| read(facts, report));
    }
    labelled(&mut out, &KILLS, "reason", round, |report| {
        report.pages.as_ref().map(|pages| pages.total).unwrap_or_default().kills().into()
    });
    for Number { metric, value } in round.of_helpers() {
        let name = name(&metric);
        head(&mut out, &name, metric.kind, metric.help);
        line(&mut out, &name, "", scaled(&metric, value));
    }
    upstreams(&mut out, round);
    durations::write(&mut out, round);
    certificates.write(&mut out);
    process(&mut out, facts, round);
    out
}

/// The servers of upstreams.
fn upstreams(out: &mut String, round: &Round) {
    if round.numbered().all(|(_, report)| report.upstreams.is_empty()) {
        return;
    }
    for number in &NUMBERS {
        head(out, number.name, number.kind, number.help);
        for (scheduler, report) in round.numbered() {
            for upstream in &report.upstreams {
                for server in &upstream.servers {
                    // Neither has a quotation mark or a backslash in it, nor a line end.
                    let (name, address) = (&upstream.name, &server.address);
                    let labels = format!(
                        "scheduler=\"{scheduler}\",upstream=\"{name}\",server=\"{address}\""
                    );
                    line(out, number.name, &labels, (number.read)(&server.view) as f64);
                }
            }
        }
    }
}

/// Writes numbers that every scheduler has.
fn each(out: &mut String, round: &Round, read: impl Fn(&SchedulerReport) -> Vec<Number>) {
    let told: Vec<_> =
        round.numbered().map(|(scheduler, report)| (scheduler, read(report))).collect();
    let Some((_, first)) = told.first() else { return };
    for (place, Number { metric, .. }) in first.iter().enumerate() {
        let name = name(metric);
        head(out, &name, metric.kind, metric.help);
        for (scheduler, numbers) in &told {
            let value = scaled(metric, numbers[place].value);
            line(out, &name, &format!("scheduler=\"{scheduler}\""), value);
        }
    }
}

/// Writes numbers of each scheduler that have a label.
fn labelled<'r>(
    out: &mut String,
    metric: &Metric,
    label: &str,
    round: &'r Round,
    read: impl Fn(&'r SchedulerReport) -> Vec<(&'r str, u64)>,
) {
    let name = name(metric);
    head(out, &name, metric.kind, metric.help);
    for (scheduler, report) in round.numbered() {
        for (value, number) in read(report) {
            let labels = format!("scheduler=\"{scheduler}\",{label}=\"{value}\"");
            line(out, &name, &labels, scaled(metric, number));
        }
    }
}

/// The full name of a number.
fn name(metric: &Metric) -> String {
    let unit = match metric.unit {
        MetricUnit::Count => "",
        MetricUnit::Bytes => "_bytes",
        MetricUnit::Nanoseconds | MetricUnit::Microseconds | MetricUnit::Ticks => "_seconds",
    };
    let kind = match metric.kind {
        MetricKind::Counter => "_total",
        MetricKind::Gauge => "",
    };
    format!("velodrome_{}{unit}{kind}", metric.name)
}

/// The number in the unit of its name.
#[expect(clippy::cast_precision_loss, reason = "Prometheus values are doubles")]
fn scaled(metric: &Metric, number: u64) -> f64 {
    match metric.unit {
        MetricUnit::Count | MetricUnit::Bytes => number as f64,
        MetricUnit::Nanoseconds => number as f64 / 1e9,
        MetricUnit::Microseconds | MetricUnit::Ticks => number as f64 / 1e6,
    }
}

fn process(out: &mut String, facts: &StartFacts, round: &Round) {
    let up = round.numbered().count() as f64;
    head(
        out,
        "velodrome_schedulers_answering",
        MetricKind::Gauge,
        "Schedulers that answered in time.",
    );
    line(out, "velodrome_schedulers_answering", "", up);
    head(out, "process_start_time_seconds", MetricKind::Gauge, "Start of the process since 1970.");
    line(out, "process_start_time_seconds", "", facts.started as f64);
    if let Ok(bytes) = sys::accounting::resident_bytes() {
        head(out, "process_resident_memory_bytes", MetricKind::Gauge, "Resident memory.");
        line(out, "process_resident_memory_bytes", "", bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::exposition::word;
    use crate::admin::numbers::{of_disks, of_store_writer};
    use crate::disk_order::DiskReport;
    use crate::store_writer_stats::StoreWriterStats;

    const DOCUMENT: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md"));

    /// The lines of a table, one for each number.
    fn table(metrics: impl Iterator<Item = Metric>, below: &str, label: &str) -> String {
        let one = |metric: Metric| {
            let (name, Metric { stats, help, .. }) = (name(&metric), metric);
            let kind = word(metric.kind);
            format!("| `{name}`{label} | {kind} | `{below}{stats}` | {help} |\n")
        };
        metrics.map(one).collect()
    }

    /// Checks the table in docs/metrics.md. A failure prints the correct table.
    #[test]
    fn every_number_is_documented_as_it_is() {
        let plain = |numbers: Vec<Number>| numbers.into_iter().map(|number| number.metric);
        let mut rows = table(plain(of_scheduler(&SchedulerReport::default())), "", "");
        for Labelled { label, metric, .. } in LABELLED {
            rows += &table([*metric].into_iter(), "", &format!(", label `{label}`"));
        }
        rows += &table(plain(of_page(&PageReport::default())), "pages.", "");
        rows += &table([KILLS].into_iter(), "pages.", ", label `reason`");
        rows += &table(plain(of_engines(&EngineMemory::default())), "pages.", "");
        rows += &table(plain(of_disks(&DiskReport::default())), "", "");
        rows += &table(plain(of_store_writer(&StoreWriterStats::default())), "", "");
        assert!(DOCUMENT.contains(&rows), "docs/metrics.md has to contain:\n{rows}");
        let column = |number| -> Vec<&str> {
            rows.lines().filter_map(|row| row.split(" | ").nth(number)).collect()
        };
        for mut names in [column(0), column(2)] {
            names.sort_unstable();
            let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
            assert_eq!(twice, None, "two numbers have one name");
        }
    }
}
