//! The numbers of a scheduler's report, part by part, for `/metrics`, `ctl stats` and
//! docs/metrics.md.
//!
//! Owns the list of parts, and the numbers that have labels. The name of a number is next to the
//! field that counts it. Never writes a format.

use cache::CacheStats as UpstreamCacheStats;
use channels::ChannelStats;
use client::ClientStats;
use cluster::LinkStats;
use files::cache::PathCacheStats;
use http::HttpStats;
use local::StoreStats;
use metric::{Metric, MetricKind, MetricRow, MetricUnit};
use pages::{EngineMemory, PageCounts, PageReport, PagesReport};
use resp::RespStats;
use runtime::account::TimeAccount;
use runtime::mailbox::MailCounters;
use runtime::service::CloseReason;
use runtime::stats::Stats;

use super::facts::StartFacts;
use crate::disk_order::DiskReport;
use crate::message::SchedulerReport;
use crate::span_stats::SpanStats;
use crate::store_writer_stats::StoreWriterStats;

/// A number and its description. Plain data.
pub(crate) struct Number {
    pub(crate) metric: Metric,
    /// In its unit; ticks are converted to microseconds.
    pub(crate) value: u64,
}

/// A number with one value for each value of a label. Plain data.
pub(crate) struct Labelled {
    pub(crate) label: &'static str,
    pub(crate) metric: Metric,
    pub(crate) read: for<'r> fn(&'r StartFacts, &'r SchedulerReport) -> Vec<(&'r str, u64)>,
}

pub(super) fn of_scheduler(report: &SchedulerReport) -> Vec<Number> {
    let SchedulerReport { runtime, http, cache, channels, store, resp, spans, .. } = report;
    let upstream_caches = &report.upstream_caches;
    // Without a cluster they are 0.
    let no_link = LinkStats::default();
    let link = report.cluster.as_ref().map_or(&no_link, |cluster| &cluster.stats);
    let numbers = read(SchedulerReport::ROWS, report)
        .chain(read(Stats::ROWS, runtime))
        .chain(read(MailCounters::ROWS, &runtime.mail))
        .chain(read(HttpStats::ROWS, http))
        .chain(read(PathCacheStats::ROWS, cache))
        .chain(read(UpstreamCacheStats::ROWS, upstream_caches))
        .chain(read(ClientStats::ROWS, &report.outgoing))
        .chain(read(ChannelStats::ROWS, channels))
        .chain(read(LinkStats::ROWS, link))
        .chain(read(StoreStats::ROWS, store))
        .chain(read(RespStats::ROWS, resp))
        .chain(read(SpanStats::ROWS, spans));
    numbers.collect()
}

/// The numbers of the disks of caches, of all schedulers together.
pub(super) fn of_disks(report: &DiskReport) -> Vec<Number> {
    read(DiskReport::ROWS, report).collect()
}

pub(super) fn of_store_writer(stats: &StoreWriterStats) -> Vec<Number> {
    read(StoreWriterStats::ROWS, stats).collect()
}

/// The numbers of one page, or of all pages together; in `ctl stats` under `pages`.
pub(super) fn of_page(page: &PageReport) -> Vec<Number> {
    read(PageReport::ROWS, page).chain(read(PageCounts::ROWS, &page.counts)).collect()
}

/// The numbers of the engines that run pages, also under `pages`.
pub(super) fn of_engines(memory: &EngineMemory) -> Vec<Number> {
    read(EngineMemory::ROWS, memory).collect()
}

fn read<'a, T>(rows: &'static [MetricRow<T>], counted: &'a T) -> impl Iterator<Item = Number> + 'a {
    rows.iter().map(|row| {
        let value = (row.read)(counted);
        match row.metric.unit {
            MetricUnit::Ticks => Number {
                metric: Metric { unit: MetricUnit::Microseconds, ..row.metric },
                value: microseconds(value),
            },
            _ => Number { metric: row.metric, value },
        }
    })
}

fn microseconds(ticks: u64) -> u64 {
    ticks / sys::clock::ticks_per_microsecond().get()
}

/// Something that is counted.
const fn counted(stats: &'static str, name: &'static str, help: &'static str) -> Metric {
    Metric { stats, name, kind: MetricKind::Counter, unit: MetricUnit::Count, help }
}

/// Replies by class of status.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The numbers with a label.
pub(super) const LABELLED: &[Labelled] = &[
    Labelled {
        label: "class",
        metric: counted("http.by_class", "responses", "Replies by class of status."),
        read: |_, report| {
            CLASSES.into_iter().zip(report.http.by_class.into_iter().skip(1)).collect()
        },
    },
    Labelled {
        label: "reason",
        metric: counted(
            "handshake_failures",
            "handshake_failures",
            "TLS handshakes of clients that failed, by reason.",
        ),
        read: |_, report| report.handshake_failures.reasons(),
    },
    Labelled {
        label: "alert",
        metric: counted(
            "handshake_alerts",
            "handshake_alerts",
            "TLS handshakes that clients ended by an alert, by its name (RFC 8446 section 6).",
        ),
        read: |_, report| report.handshake_failures.alerts(),
    },
    Labelled {
        label: "limit",
        metric: counted(
            "limit_refusals",
            "limit_refusals",
            "Uses refused by a `[[limit]]`, by its name.",
        ),
        read: |_, report| report.limits.iter().map(|limit| (&*limit.name, limit.refused)).collect(),
    },
    Labelled {
        label: "limit",
        metric: counted(
            "limit_delays",
            "limit_delays",
            "Requests delayed by a `[[limit]]`, by its name.",
        ),
        read: |_, report| report.limits.iter().map(|limit| (&*limit.name, limit.delayed)).collect(),
    },
    Labelled {
        label: "limit",
        metric: counted(
            "limit_forgotten",
            "limit_forgotten",
            "Clients that a `[[limit]]` forgot before they had all back, because `limit_keys` is too \
                   small, by its name.",
        ),
        read: |_, report| {
            report.limits.iter().map(|limit| (&*limit.name, limit.forgotten)).collect()
        },
    },
    Labelled {
        label: "reason",
        metric: counted("closed", "closed", "Connections closed, by reason."),
        read: |_, report| CloseReason::NAMES.into_iter().zip(report.runtime.closed).collect(),
    },
    Labelled {
        label: "kind",
        metric: Metric {
            stats: "processes",
            name: "processes",
            kind: MetricKind::Gauge,
            unit: MetricUnit::Count,
            help: "Processes that live, by kind.",
        },
        read: |facts, report| facts.kinds.iter().copied().zip(report.runtime.processes).collect(),
    },
    Labelled {
        label: "account",
        metric: Metric {
            stats: "time.accounts_us",
            name: "time",
            kind: MetricKind::Counter,
            unit: MetricUnit::Microseconds,
            help: "Time of schedulers by account; the accounts add up to the time since the start.",
        },
        read: |_, report| {
            let wait = ("wait", report.accounts.wait_ns);
            let others = TimeAccount::NAMES.into_iter().zip(report.accounts.ns);
            let all = std::iter::once(wait).chain(others);
            all.map(|(name, ns)| (name, metric::microseconds(ns))).collect()
        },
    },
];

/// With the label `reason`; also listed for each page in `ctl stats`: [`PageCounts::kills`].
pub(super) const KILLS: Metric =
    counted("kills", "page_kills", "Runs of pages ended by a bound, by reason.");

/// The sum of all pages.
pub(super) fn together(report: &PagesReport) -> PageReport {
    PageReport {
        page: None,
        number: 0,
        waiting: report.waiting as u64,
        spawned_waiting: report.sum(|page| page.spawned_waiting),
        held_bytes: report.sum(|page| page.held_bytes),
        families: report.sum(|page| page.families),
        spawned_held_bytes: report.sum(|page| page.spawned_held_bytes),
        counts: report.total,
    }
}
