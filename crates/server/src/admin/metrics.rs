//! Metrics in the Prometheus text format, version 0.0.4.
//!
//! Owns the names. Counters end in `_total`, units stand in the name, every metric has its help and type.

use std::fmt::Write;

use pages::PagesReport;
use runtime::service::CloseReason;

use super::handle::Facts;
use super::round::Round;
use crate::message::SchedulerReport;

/// The media type of the format.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// One metric with a value for each scheduler.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&SchedulerReport) -> f64,
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus values are doubles")]
const fn number(count: u64) -> f64 {
    count as f64
}

/// A number of all pages together.
fn of_pages(report: &SchedulerReport, of: fn(&PagesReport) -> u64) -> f64 {
    report.pages.as_ref().map_or(0.0, |pages| number(of(pages)))
}

const METRICS: &[Metric] = &[
    Metric {
        name: "velodrome_connections",
        kind: "gauge",
        help: "Open connections.",
        value: |report| number(report.processes as u64),
    },
    Metric {
        name: "velodrome_accepts_total",
        kind: "counter",
        help: "Connections accepted.",
        value: |report| number(report.runtime.accepts),
    },
    Metric {
        name: "velodrome_requests_total",
        kind: "counter",
        help: "Requests answered.",
        value: |report| number(report.http.requests),
    },
    Metric {
        name: "velodrome_received_bytes_total",
        kind: "counter",
        help: "Bytes received from clients.",
        value: |report| number(report.runtime.received_bytes),
    },
    Metric {
        name: "velodrome_sent_bytes_total",
        kind: "counter",
        help: "Bytes sent to clients.",
        value: |report| number(report.runtime.sent_bytes),
    },
    Metric {
        name: "velodrome_turns_total",
        kind: "counter",
        help: "Turns of the scheduler.",
        value: |report| number(report.runtime.turns),
    },
    Metric {
        name: "velodrome_asleep_seconds_total",
        kind: "counter",
        help: "Time the scheduler was blocked.",
        value: |report| number(report.runtime.asleep_ns) / 1e9,
    },
    Metric {
        name: "velodrome_spun_seconds_total",
        kind: "counter",
        help: "Time the scheduler polled for want of work before it blocked.",
        value: |report| number(report.runtime.spun_ns) / 1e9,
    },
    Metric {
        name: "velodrome_longest_turn_seconds",
        kind: "gauge",
        help: "The longest turn since the start.",
        value: |report| number(report.runtime.longest_turn_ns) / 1e9,
    },
    Metric {
        name: "velodrome_buffered_bytes",
        kind: "gauge",
        help: "Bytes in inboxes and outboxes.",
        value: |report| number(report.runtime.buffered_bytes),
    },
    Metric {
        name: "velodrome_accept_pauses_total",
        kind: "counter",
        help: "Times accepting paused for want of descriptors or room.",
        value: |report| number(report.runtime.accept_pauses),
    },
    Metric {
        name: "velodrome_panics_total",
        kind: "counter",
        help: "Processes ended by a panic of their handler.",
        value: |report| number(report.runtime.panics),
    },
    Metric {
        name: "velodrome_file_cache_bytes",
        kind: "gauge",
        help: "Bytes of files held in memory.",
        value: |report| number(report.cache.bytes as u64),
    },
    Metric {
        name: "velodrome_file_cache_hits_total",
        kind: "counter",
        help: "Requests for files answered without a look at the disk.",
        value: |report| number(report.cache.hits),
    },
    Metric {
        name: "velodrome_file_cache_misses_total",
        kind: "counter",
        help: "Requests for files that waited for the disk.",
        value: |report| number(report.cache.misses),
    },
    Metric {
        name: "velodrome_log_lines_dropped_total",
        kind: "counter",
        help: "Access log lines dropped because the writer could not follow.",
        value: |report| number(report.http.log_dropped_lines),
    },
    Metric {
        name: "velodrome_page_requests_total",
        kind: "counter",
        help: "Runs of pages begun.",
        value: |report| of_pages(report, |pages| pages.total.requests),
    },
    Metric {
        name: "velodrome_page_failures_total",
        kind: "counter",
        help: "Runs of pages ended by an error of the page.",
        value: |report| of_pages(report, |pages| pages.total.failures),
    },
    Metric {
        name: "velodrome_page_refusals_total",
        kind: "counter",
        help: "Runs of pages ended as their client sent what no page can look at.",
        value: |report| of_pages(report, |pages| pages.total.refused),
    },
    Metric {
        name: "velodrome_page_cancellations_total",
        kind: "counter",
        help: "Runs of pages that ended with their client.",
        value: |report| of_pages(report, |pages| pages.total.cancelled),
    },
    Metric {
        name: "velodrome_page_spawned_total",
        kind: "counter",
        help: "Processes that pages spawned.",
        value: |report| of_pages(report, |pages| pages.total.spawned),
    },
    Metric {
        name: "velodrome_page_slices_total",
        kind: "counter",
        help: "Time slices that were over before their page was.",
        value: |report| of_pages(report, |pages| pages.total.slices),
    },
    Metric {
        name: "velodrome_page_cpu_seconds_total",
        kind: "counter",
        help: "CPU time of pages, sampled.",
        value: |report| of_pages(report, |pages| pages.total.used.cpu_ns) / 1e9,
    },
    Metric {
        name: "velodrome_page_allocated_bytes_total",
        kind: "counter",
        help: "Bytes that runs of pages allocated, most of them free again.",
        value: |report| of_pages(report, |pages| pages.total.used.allocated_bytes),
    },
    Metric {
        name: "velodrome_pages_waiting",
        kind: "gauge",
        help: "Pages under way that wait.",
        value: |report| of_pages(report, |pages| pages.waiting as u64),
    },
    Metric {
        name: "velodrome_page_memory_bytes",
        kind: "gauge",
        help: "Memory of the page engine.",
        value: |report| of_pages(report, |pages| pages.memory_bytes as u64),
    },
    Metric {
        name: "velodrome_page_process_memory_bytes",
        kind: "gauge",
        help: "Memory of the engine that runs what pages spawned.",
        value: |report| of_pages(report, |pages| pages.process_memory_bytes as u64),
    },
    Metric {
        name: "velodrome_page_processes",
        kind: "gauge",
        help: "Processes under way that pages spawned.",
        value: |report| of_pages(report, |pages| pages.sum(|page| page.spawned_waiting)),
    },
    Metric {
        name: "velodrome_page_process_requests",
        kind: "gauge",
        help: "Requests that these processes come of.",
        value: |report| of_pages(report, |pages| pages.sum(|page| page.families)),
    },
];

/// Everything.
pub(super) fn write(facts: &Facts, round: &Round) -> String {
    let mut out = String::with_capacity(8192);
    for metric in METRICS {
        head(&mut out, metric.name, metric.kind, metric.help);
        for (scheduler, report) in answering(round) {
            let value = (metric.value)(report);
            line(&mut out, metric.name, &format!("scheduler=\"{scheduler}\""), value);
        }
    }
    head(&mut out, "velodrome_responses_total", "counter", "Replies by class of status.");
    for (scheduler, report) in answering(round) {
        for (class, count) in report.http.by_class.iter().enumerate().skip(1) {
            let labels = format!("scheduler=\"{scheduler}\",class=\"{class}xx\"");
            line(&mut out, "velodrome_responses_total", &labels, number(*count));
        }
    }
    head(&mut out, "velodrome_closed_total", "counter", "Connections closed, by reason.");
    for (scheduler, report) in answering(round) {
        for (reason, count) in CloseReason::NAMES.iter().zip(report.runtime.closed) {
            let labels = format!("scheduler=\"{scheduler}\",reason=\"{reason}\"");
            line(&mut out, "velodrome_closed_total", &labels, number(count));
        }
    }
    let name = "velodrome_page_kills_total";
    head(&mut out, name, "counter", "Runs of pages ended by a bound, by reason.");
    for (scheduler, report) in answering(round) {
        let total = report.pages.as_ref().map(|pages| pages.total).unwrap_or_default();
        for (reason, count) in total.kills() {
            let labels = format!("scheduler=\"{scheduler}\",reason=\"{reason}\"");
            line(&mut out, name, &labels, number(count));
        }
    }
    process(&mut out, facts, round);
    out
}

fn process(out: &mut String, facts: &Facts, round: &Round) {
    let up = answering(round).count() as u64;
    head(out, "velodrome_schedulers_answering", "gauge", "Schedulers that answered in time.");
    line(out, "velodrome_schedulers_answering", "", number(up));
    head(out, "process_start_time_seconds", "gauge", "Start of the process since 1970.");
    line(out, "process_start_time_seconds", "", number(facts.started));
    if let Ok(bytes) = sys::accounting::resident_bytes() {
        head(out, "process_resident_memory_bytes", "gauge", "Resident memory.");
        line(out, "process_resident_memory_bytes", "", number(bytes));
    }
}

fn answering(round: &Round) -> impl Iterator<Item = (usize, &SchedulerReport)> {
    let numbered = round.reports.iter().enumerate();
    numbered.filter_map(|(number, report)| report.as_ref().map(|report| (number, report)))
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("a String takes every text");
}

fn line(out: &mut String, name: &str, labels: &str, value: f64) {
    let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    writeln!(out, "{name}{braces} {value}").expect("a String takes every text");
}
