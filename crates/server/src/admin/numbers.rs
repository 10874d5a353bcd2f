//! The numbers that schedulers count: each is one row here, and `/metrics`, `ctl stats` and docs/metrics.md come from it.
//!
//! Owns name, unit and meaning of each number. Never writes a format.

use pages::{PageReport, PagesReport};
use runtime::service::CloseReason;

use super::facts::Facts;
use crate::message::SchedulerReport;

/// Whether a number only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// The unit of a number. `ctl stats` prints the number as it is, `/metrics` prints times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Count,
    Bytes,
    Nanoseconds,
    Microseconds,
}

use Unit::{Bytes, Count, Microseconds, Nanoseconds};

/// One number of something that is counted.
pub(super) struct Row<T> {
    /// Its place in `ctl stats`: keys with dots between.
    pub(super) stats: &'static str,
    /// Its name in `/metrics` without prefix, unit and kind.
    pub(super) metric: &'static str,
    pub(super) kind: Kind,
    pub(super) unit: Unit,
    pub(super) help: &'static str,
    pub(super) read: fn(&T) -> u64,
}

/// Numbers with a label each.
pub(super) struct Labelled {
    pub(super) label: &'static str,
    pub(super) row: Row<()>,
    pub(super) read: fn(&Facts, &SchedulerReport) -> Vec<(&'static str, u64)>,
}

const fn counter<T>(
    stats: &'static str,
    metric: &'static str,
    unit: Unit,
    help: &'static str,
    read: fn(&T) -> u64,
) -> Row<T> {
    Row { stats, metric, kind: Kind::Counter, unit, help, read }
}

const fn gauge<T>(
    stats: &'static str,
    metric: &'static str,
    unit: Unit,
    help: &'static str,
    read: fn(&T) -> u64,
) -> Row<T> {
    Row { stats, metric, kind: Kind::Gauge, unit, help, read }
}

impl<T> Row<T> {
    /// Its whole name in `/metrics`.
    pub(super) fn name(&self) -> String {
        let unit = match self.unit {
            Count => "",
            Bytes => "_bytes",
            Nanoseconds | Microseconds => "_seconds",
        };
        let kind = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("velodrome_{}{unit}{kind}", self.metric)
    }

    /// The number in the unit of its name.
    #[expect(clippy::cast_precision_loss, reason = "Prometheus values are doubles")]
    pub(super) fn scaled(&self, number: u64) -> f64 {
        match self.unit {
            Count | Bytes => number as f64,
            Nanoseconds => number as f64 / 1e9,
            Microseconds => number as f64 / 1e6,
        }
    }
}

/// Microseconds of the time stamp counter's ticks.
fn us(ticks: u64) -> u64 {
    ticks / sys::clock::ticks_per_microsecond().get()
}

/// Of a scheduler.
#[rustfmt::skip]
pub(super) const OF_SCHEDULER: &[Row<SchedulerReport>] = &[
    gauge("connections", "connections", Count, "Open connections.", |r| r.processes as u64),
    counter("turns.count", "turns", Count, "Turns of the scheduler.", |r| r.runtime.turns),
    counter("turns.events", "events", Count, "Events taken from the kernel.", |r| r.runtime.events),
    gauge("turns.events_max", "events_max", Count, "Most events in one turn.", |r| r.runtime.events_max),
    gauge("turns.longest_ns", "longest_turn", Nanoseconds, "The longest turn since the start.", |r| r.runtime.longest_turn_ns),
    gauge("turns.longest_run_us", "longest_run", Microseconds, "The longest run of one process.", |r| us(r.runtime.longest_run_ticks)),
    counter("turns.deadlines", "deadlines", Count, "Deadlines that were reached.", |r| r.runtime.deadlines),
    gauge("turns.timer_lag_max_ns", "timer_lag_max", Nanoseconds, "The longest time by which a deadline was noticed late.", |r| r.runtime.timer_lag_max_ns),
    counter("turns.panics", "panics", Count, "Processes ended by a panic of their handler.", |r| r.runtime.panics),
    counter("time.sleeps", "sleeps", Count, "Times the scheduler was blocked.", |r| r.runtime.sleeps),
    counter("time.asleep_ns", "asleep", Nanoseconds, "Time the scheduler was blocked.", |r| r.runtime.asleep_ns),
    counter("time.spun_ns", "spun", Nanoseconds, "Time the scheduler polled for want of work before it blocked.", |r| r.runtime.spun_ns),
    counter("time.spin_hits", "spin_hits", Count, "Polls that an event ended.", |r| r.runtime.spin_hits),
    counter("time.spin_misses", "spin_misses", Count, "Polls that ended in a sleep.", |r| r.runtime.spin_misses),
    counter("time.spin_pauses", "spin_pauses", Count, "Times another thread wanted the CPU meanwhile, which ends polling for a while.", |r| r.runtime.spin_pauses),
    counter("time.sampled_turns", "sampled_turns", Count, "Turns that were timed in full.", |r| r.runtime.sampled.turns),
    counter("time.sampled_us.poll", "sampled_poll", Microseconds, "Of their time: looking for events.", |r| us(r.runtime.sampled.poll_ticks)),
    counter("time.sampled_us.accept", "sampled_accept", Microseconds, "Of their time: accepting.", |r| us(r.runtime.sampled.accept_ticks)),
    counter("time.sampled_us.connect", "sampled_connect", Microseconds, "Of their time: connecting.", |r| us(r.runtime.sampled.connect_ticks)),
    counter("time.sampled_us.receive", "sampled_receive", Microseconds, "Of their time: receiving.", |r| us(r.runtime.sampled.receive_ticks)),
    counter("time.sampled_us.send", "sampled_send", Microseconds, "Of their time: sending.", |r| us(r.runtime.sampled.send_ticks)),
    counter("network.accepts", "accepts", Count, "Connections accepted.", |r| r.runtime.accepts),
    counter("network.accepts_aborted", "accepts_aborted", Count, "Connections that died before they were accepted.", |r| r.runtime.accepts_aborted),
    counter("network.accepts_refused", "accepts_refused", Count, "Connections closed at once.", |r| r.runtime.accepts_refused),
    counter("network.accepts_overloaded", "accepts_overloaded", Count, "Connections told that there is no memory for them.", |r| r.runtime.accepts_overloaded),
    counter("network.accept_pauses", "accept_pauses", Count, "Times accepting paused for want of descriptors or room.", |r| r.runtime.accept_pauses),
    counter("network.connects", "connects", Count, "Connections to other servers begun.", |r| r.runtime.connects),
    counter("network.connects_refused", "connects_refused", Count, "Connections to other servers that could not be begun.", |r| r.runtime.connects_refused),
    counter("network.connects_failed", "connects_failed", Count, "Connections to other servers that were begun and came to nothing.", |r| r.runtime.connects_failed),
    gauge("network.connections_max", "connections_max", Count, "Most connections at one time.", |r| r.runtime.processes_max),
    counter("network.receives", "receives", Count, "Receive calls that gave bytes.", |r| r.runtime.receives),
    counter("network.received_bytes", "received", Bytes, "Bytes received from clients.", |r| r.runtime.received_bytes),
    counter("network.sends", "sends", Count, "Writes.", |r| r.runtime.sends),
    counter("network.sends_blocked", "sends_blocked", Count, "Writes that left something over.", |r| r.runtime.sends_blocked),
    counter("network.sent_bytes", "sent", Bytes, "Bytes sent to clients.", |r| r.runtime.sent_bytes),
    counter("network.files_cold", "files_cold", Count, "Waits for a part of a large file that was not in memory.", |r| r.runtime.files_cold),
    gauge("network.buffered_bytes", "buffered", Bytes, "Bytes in inboxes and outboxes.", |r| r.runtime.buffered_bytes),
    gauge("network.buffered_bytes_max", "buffered_max", Bytes, "Most bytes in inboxes and outboxes at one time.", |r| r.runtime.buffered_bytes_max),
    counter("mail.sent", "mail_sent", Count, "Messages sent to other threads.", |r| r.runtime.mail.sent),
    counter("mail.received", "mail_received", Count, "Messages received from other threads.", |r| r.runtime.mail.received),
    counter("mail.full", "mail_full", Count, "Messages for which another thread had no room.", |r| r.runtime.mail.full),
    counter("mail.wakes_issued", "mail_wakes_issued", Count, "Times another thread was woken.", |r| r.runtime.mail.wakes_issued),
    counter("mail.wakes_coalesced", "mail_wakes_coalesced", Count, "Times another thread was awake already.", |r| r.runtime.mail.wakes_coalesced),
    gauge("mail.taken_max", "mail_taken_max", Count, "Most messages taken in one turn.", |r| r.runtime.mail.taken_max),
    counter("http.requests", "requests", Count, "Requests answered.", |r| r.http.requests),
    counter("http.refused", "requests_refused", Count, "Requests refused by the connection itself: malformed, too large, too slow.", |r| r.http.refused),
    counter("http.waited", "requests_waited", Count, "Requests that had to wait for something.", |r| r.http.waited),
    counter("http.waits_expired", "waits_expired", Count, "Waits that ended at their deadline.", |r| r.http.waits_expired),
    counter("http.header_timeouts", "header_timeouts", Count, "Connections closed for want of a whole head in time.", |r| r.http.header_timeouts),
    counter("http.body_timeouts", "body_timeouts", Count, "Connections closed for want of a body in time.", |r| r.http.body_timeouts),
    counter("http.keep_alive_timeouts", "keep_alive_timeouts", Count, "Idle connections closed at the end of their keep-alive time.", |r| r.http.keep_alive_timeouts),
    counter("http.proxy_refused", "proxy_refused", Count, "PROXY headers refused.", |r| r.http.proxy_refused),
    counter("http.log_lines_dropped", "log_lines_dropped", Count, "Access log lines dropped because the writer could not follow.", |r| r.http.log_dropped_lines),
    counter("files.hits", "file_cache_hits", Count, "Requests for files answered without a look at the disk.", |r| r.cache.hits),
    counter("files.misses", "file_cache_misses", Count, "Requests for files that waited for the disk.", |r| r.cache.misses),
    counter("files.refreshes", "file_cache_refreshes", Count, "Looks at the disk while the answer was given at once.", |r| r.cache.refreshes),
    counter("files.evictions", "file_cache_evictions", Count, "Files that left for want of room.", |r| r.cache.evictions),
    gauge("files.bytes", "file_cache", Bytes, "Bytes of files held in memory.", |r| r.cache.bytes as u64),
    gauge("files.paths", "file_cache_paths", Count, "Paths held.", |r| r.cache.paths as u64),
];

/// Of a page, and of all pages together; in `ctl stats` below `pages`.
#[rustfmt::skip]
pub(super) const OF_PAGES: &[Row<PageReport>] = &[
    counter("requests", "page_requests", Count, "Runs of pages begun.", |p| p.counts.requests),
    counter("failures", "page_failures", Count, "Runs of pages ended by an error of the page.", |p| p.counts.failures),
    counter("refused", "page_refusals", Count, "Runs of pages ended because their client sent what no page can look at.", |p| p.counts.refused),
    counter("cancelled", "page_cancellations", Count, "Runs of pages that ended with their client.", |p| p.counts.cancelled),
    gauge("waiting", "pages_waiting", Count, "Pages under way that wait.", |p| p.waiting),
    counter("spawned", "page_spawned", Count, "Processes that pages spawned.", |p| p.counts.spawned),
    counter("spawned_cpu_us", "page_spawned_cpu", Microseconds, "CPU time of those processes, a part of that of pages.", |p| p.counts.spawned_cpu_ns / 1_000),
    counter("slices", "page_slices", Count, "Time slices that were over before their page was.", |p| p.counts.slices),
    counter("cpu_us", "page_cpu", Microseconds, "CPU time of pages, sampled.", |p| p.counts.used.cpu_ns / 1_000),
    gauge("held_bytes", "page_held", Bytes, "Bytes that requests of pages hold.", |p| p.held_bytes),
    gauge("held_max_bytes", "page_held_max", Bytes, "Most bytes that a run held when it came back.", |p| p.counts.held_max_bytes),
    counter("allocated_bytes", "page_allocated", Bytes, "Bytes that runs of pages allocated, most of them free again.", |p| p.counts.used.allocated_bytes),
    counter("traces", "page_traces", Count, "Traces that became native code.", |p| p.counts.used.traces),
    counter("traces_aborted", "page_traces_aborted", Count, "Traces that did not.", |p| p.counts.used.traces_aborted),
    gauge("spawned_waiting", "page_processes", Count, "Processes under way that pages spawned.", |p| p.spawned_waiting),
    gauge("spawned_requests", "page_process_requests", Count, "Requests that these processes come of.", |p| p.families),
    gauge("spawned_held_bytes", "page_process_held", Bytes, "Bytes that these processes hold.", |p| p.spawned_held_bytes),
];

/// Of the engines that run pages, in the same place.
#[rustfmt::skip]
pub(super) const OF_ENGINES: &[Row<PagesReport>] = &[
    gauge("memory_bytes", "page_memory", Bytes, "Memory of the page engine.", |e| e.memory_bytes as u64),
    gauge("memory_max_bytes", "page_memory_max", Bytes, "Memory that the page engine may have.", |e| e.memory_max_bytes as u64),
    gauge("process_memory_bytes", "page_process_memory", Bytes, "Memory of the engine that runs what pages spawned.", |e| e.process_memory_bytes as u64),
    gauge("process_memory_max_bytes", "page_process_memory_max", Bytes, "Memory that it may have.", |e| e.process_memory_max_bytes as u64),
];

/// With a label.
pub(super) const LABELLED: &[Labelled] = &[
    Labelled {
        label: "class",
        row: counter("http.by_class", "responses", Count, "Replies by class of status.", |()| 0),
        read: |_, report| {
            let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
            classes.into_iter().zip(report.http.by_class.into_iter().skip(1)).collect()
        },
    },
    Labelled {
        label: "reason",
        row: counter("closed", "closed", Count, "Connections closed, by reason.", |()| 0),
        read: |_, report| CloseReason::NAMES.into_iter().zip(report.runtime.closed).collect(),
    },
    Labelled {
        label: "kind",
        row: gauge("processes", "processes", Count, "Processes that live, by kind.", |()| 0),
        read: |facts, report| facts.kinds.iter().copied().zip(report.runtime.processes).collect(),
    },
    Labelled {
        label: "kind",
        row: counter(
            "time.sampled_us.handlers",
            "sampled_handlers",
            Microseconds,
            "Of the time of sampled turns: in handlers, by kind of process.",
            |()| 0,
        ),
        read: |facts, report| {
            let ticks = report.runtime.sampled.handler_ticks.map(us);
            facts.kinds.iter().copied().zip(ticks).collect()
        },
    },
];

/// All pages together, as if they were one.
pub(super) fn together(report: &PagesReport) -> PageReport {
    PageReport {
        page: None,
        waiting: report.waiting as u64,
        spawned_waiting: report.sum(|page| page.spawned_waiting),
        held_bytes: report.sum(|page| page.held_bytes),
        families: report.sum(|page| page.families),
        spawned_held_bytes: report.sum(|page| page.spawned_held_bytes),
        counts: report.total,
    }
}

/// Of each page `ctl stats` has them as well.
pub(super) const KILLS: Row<PageReport> = Row {
    stats: "kills",
    metric: "page_kills",
    kind: Kind::Counter,
    unit: Unit::Count,
    help: "Runs of pages ended by a bound, by reason.",
    read: |page| page.counts.kills().iter().map(|(_, count)| count).sum(),
};
