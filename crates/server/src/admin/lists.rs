//! The columns of each list, and the rows of those that are made of reports.
//!
//! Owns both. The rows of connections, suspended pages and channels come from schedulers (`crate::live`).

use std::collections::BTreeMap;

use live::ColumnGrowth::{Now, Up};
use live::ColumnUnit::{Bytes, Count, Microseconds, Milliseconds, Text};
use live::{Column, ColumnGrowth, ColumnUnit, FETCHED, LatencyFigures, List, TableRow};

use super::facts::StartFacts;
use super::joined::{latencies, together};
use super::round::Round;
use crate::store_writer_stats::StoreWriterStats;

/// A column: its key, its title, the kind of its values, and whether they only grow.
type ColumnRow = (&'static str, &'static str, ColumnUnit, ColumnGrowth);

/// The column by which the rows of a list are chosen if nobody says, and its columns.
pub(super) fn columns(list: List) -> (&'static str, Vec<Column>) {
    let (chosen_by, rows) = match list {
        List::Connections => ("cpu_us", CONNECTIONS),
        List::Routes => ("requests", ROUTES),
        List::Upstreams => ("requests", UPSTREAMS),
        List::Listeners => ("address", LISTENERS),
        List::Pages => ("cpu_us", PAGES),
        List::Processes => ("messages", PROCESSES),
        List::Keys => ("uses", KEYS),
        List::Channels => ("subscribers", CHANNELS),
        List::Mailboxes => ("received", MAILBOXES),
        List::Store => ("orders", STORE),
    };
    let column = |&(key, title, unit, growth): &ColumnRow| Column::new(key, title, unit, growth);
    (chosen_by, rows.iter().map(column).collect())
}

const CONNECTIONS: &[ColumnRow] = &[
    ("peer", "client", Text, Now),
    ("kind", "kind", Text, Now),
    ("state", "state", Text, Now),
    ("scheduler", "scheduler", Count, Now),
    ("encrypted", "TLS", Text, Now),
    ("age_ms", "age", Milliseconds, Now),
    ("idle_ms", "idle", Milliseconds, Now),
    ("requests", "requests", Count, Up),
    ("cpu_us", "CPU", Microseconds, Up),
    ("received_bytes", "in", Bytes, Up),
    ("sent_bytes", "out", Bytes, Up),
    ("queued_bytes", "unsent", Bytes, Now),
    ("unread_bytes", "unread", Bytes, Now),
];

const ROUTES: &[ColumnRow] = &[
    ("name", "route", Text, Now),
    ("requests", "requests", Count, Up),
    ("4xx", "4xx", Count, Up),
    ("5xx", "5xx", Count, Up),
    ("p50_us", "p50", Microseconds, Now),
    ("p99_us", "p99", Microseconds, Now),
    ("max_us", "max", Microseconds, Now),
];

const UPSTREAMS: &[ColumnRow] = &[
    ("server", "server", Text, Now),
    ("upstream", "upstream", Text, Now),
    ("state", "state", Text, Now),
    ("open", "open", Count, Now),
    ("requests", "requests", Count, Up),
    ("failures", "failures", Count, Up),
    ("p50_us", "p50", Microseconds, Now),
    ("p99_us", "p99", Microseconds, Now),
];

const LISTENERS: &[ColumnRow] = &[("address", "address", Text, Now)];

const PAGES: &[ColumnRow] = &[
    ("page", "page", Text, Now),
    ("requests", "requests", Count, Up),
    ("cpu_us", "CPU", Microseconds, Up),
    ("slices", "slices", Count, Up),
    ("failures", "failures", Count, Up),
    ("kills", "kills", Count, Up),
    ("waiting", "waiting", Count, Now),
    ("held_bytes", "memory", Bytes, Now),
    ("allocated_bytes", "allocated", Bytes, Up),
    ("p50_us", "p50", Microseconds, Now),
    ("p99_us", "p99", Microseconds, Now),
];

const PROCESSES: &[ColumnRow] = &[
    ("page", "page", Text, Now),
    ("kind", "kind", Text, Now),
    ("state", "state", Text, Now),
    ("waits_for", "waits for", Text, Now),
    ("cpu_us", "CPU", Microseconds, Up),
    ("name", "name", Text, Now),
    ("scheduler", "scheduler", Count, Now),
    ("messages", "messages", Count, Now),
    ("mailbox_bytes", "mailbox", Bytes, Now),
    ("memory_bytes", "memory", Bytes, Now),
];

const KEYS: &[ColumnRow] =
    &[("key", "key", Text, Now), ("database", "database", Text, Now), ("uses", "uses", Count, Up)];

const CHANNELS: &[ColumnRow] = &[
    ("name", "channel", Text, Now),
    ("subscribers", "subscribers", Count, Now),
    ("published", "published", Count, Up),
    ("behind", "behind", Count, Now),
    ("dropped", "drops", Count, Up),
    ("kept", "kept", Count, Now),
    ("kept_bytes", "kept size", Bytes, Now),
    ("p50_us", "p50", Microseconds, Now),
    ("p99_us", "p99", Microseconds, Now),
    ("pattern", "rules", Text, Now),
];

const MAILBOXES: &[ColumnRow] = &[
    ("scheduler", "scheduler", Text, Now),
    ("received", "received", Count, Up),
    ("sent", "sent", Count, Up),
    ("full", "full", Count, Up),
    ("wakes", "wakes", Count, Up),
    ("taken_max", "most in a turn", Count, Now),
];

const STORE: &[ColumnRow] = &[
    ("scheduler", "scheduler", Text, Now),
    ("orders", "orders", Count, Up),
    ("messages", "messages", Count, Up),
    ("waited", "waits", Count, Up),
    ("failed", "failed", Count, Up),
    ("under_way_bytes", "under way", Bytes, Now),
    ("lent", "snapshots lent", Count, Now),
    ("commits", "commits", Count, Up),
    ("last_commit_us", "commit took", Microseconds, Now),
    ("longest_commit_us", "longest commit", Microseconds, Now),
    ("last_commit_ago_ms", "commit ago", Milliseconds, Now),
    ("checkpoints", "checkpoints", Count, Up),
    ("last_checkpoint_us", "checkpoint took", Microseconds, Now),
    ("longest_checkpoint_us", "longest checkpoint", Microseconds, Now),
    ("last_checkpoint_ago_ms", "checkpoint ago", Milliseconds, Now),
];

/// The rows of a list that is made of reports.
pub(super) fn rows(list: List, facts: &StartFacts, round: &Round, at_ms: u64) -> Vec<TableRow> {
    match list {
        List::Routes => routes(round),
        List::Pages => pages(round),
        List::Upstreams => upstreams(round),
        List::Listeners => facts
            .listeners
            .iter()
            .map(|address| TableRow::new(format!("l-{address}")).text("address", &**address))
            .collect(),
        List::Mailboxes => mailboxes(round),
        List::Store => store(round, at_ms),
        List::Connections | List::Processes | List::Channels | List::Keys => Vec::new(),
    }
}

fn routes(round: &Round) -> Vec<TableRow> {
    let mut rows = BTreeMap::new();
    for report in round.answered() {
        for latency in &report.shown.times {
            let Some(class) = latency.of.strip_prefix("route ") else { continue };
            let count = latency.times.count();
            let row = TableRow::new(format!("r-{}", latency.name)).text("name", &*latency.name);
            let row = row.number("requests", count).number(class, count);
            rows.entry(latency.name.clone()).or_insert_with(Vec::new).push(row);
        }
    }
    let rows = together(rows.into_values().flatten());
    with_times(List::Routes, rows, round)
}

fn pages(round: &Round) -> Vec<TableRow> {
    let reports = round.answered().filter_map(|report| report.pages.as_ref());
    let one = |page: &pages::PageReport| {
        let name = page.page.as_deref().unwrap_or("others");
        let kills: u64 = page.counts.kills().iter().map(|(_, count)| count).sum();
        TableRow::new(format!("g-{name}"))
            .text("page", name)
            .number("requests", page.counts.requests)
            .number("cpu_us", metric::microseconds(page.counts.cpu_ns))
            .number("slices", page.counts.slices)
            .number("failures", page.counts.failures)
            .number("kills", kills)
            .number("waiting", page.waiting)
            .number("held_bytes", page.held_bytes + page.spawned_held_bytes)
            .number("allocated_bytes", page.counts.allocated_bytes)
    };
    let rows = together(reports.flat_map(|report| &report.pages).map(one));
    with_times(List::Pages, rows, round)
}

/// Rows with the times of what they name.
pub(super) fn with_times(list: List, rows: Vec<TableRow>, round: &Round) -> Vec<TableRow> {
    let times = latencies(round);
    let with = |row: TableRow| {
        let is_its =
            |latency: &&LatencyFigures| list.timed_as(&row) == Some((&latency.of, &latency.name));
        let known = times.iter().find(is_its);
        let Some(told) = known.map(|latency| latency.times.quantiles()) else { return row };
        row.number("p50_us", told.p50_ns / 1_000)
            .number("p99_us", told.p99_ns / 1_000)
            .number("max_us", told.max_ns / 1_000)
    };
    rows.into_iter().map(with).collect()
}

fn upstreams(round: &Round) -> Vec<TableRow> {
    let all = round.answered().map(|report| &*report.upstreams);
    let mut rows = Vec::new();
    for upstream in crate::upstream_report::together(all).as_array().into_iter().flatten() {
        let name = upstream["name"].as_str().unwrap_or_default();
        for server in upstream["servers"].as_array().into_iter().flatten() {
            let address = server["address"].as_str().unwrap_or_default();
            let number = |key: &str| server[key].as_u64().unwrap_or(0);
            rows.push(
                TableRow::new(format!("u-{name}-{address}"))
                    .text("server", address)
                    .text("upstream", name)
                    .text("state", server["state"].as_str().unwrap_or_default())
                    .number("open", number("open"))
                    .number("requests", number("requests"))
                    .number("failures", number("failures")),
            );
        }
    }
    let fetched = latencies(round).into_iter().filter(|latency| latency.of == "fetch");
    rows.extend(fetched.map(|latency| {
        TableRow::new(format!("f-{}", latency.name))
            .text("server", latency.name)
            .text("upstream", FETCHED)
            .number("requests", latency.times.count())
    }));
    with_times(List::Upstreams, rows, round)
}

fn mailboxes(round: &Round) -> Vec<TableRow> {
    let one = |(number, report): (usize, &crate::message::SchedulerReport)| {
        let mail = &report.runtime.mail;
        TableRow::new(format!("m-{number}"))
            .text("scheduler", number.to_string())
            .number("received", mail.received)
            .number("sent", mail.sent)
            .number("full", mail.full)
            .number("wakes", mail.wakes_issued)
            .number("taken_max", mail.taken_max)
    };
    round.numbered().map(one).collect()
}

fn store(round: &Round, at_ms: u64) -> Vec<TableRow> {
    let one = |(number, report): (usize, &crate::message::SchedulerReport)| {
        TableRow::new(format!("s-{number}"))
            .text("scheduler", number.to_string())
            .number("orders", report.store.orders)
            .number("messages", report.store.messages)
            .number("waited", report.store.waited)
            .number("failed", report.store.failed)
            .number("under_way_bytes", report.store.under_way)
            .number("lent", report.store.lent)
    };
    let writer = round.store_writer().map(|stats| store_writer(stats, at_ms));
    writer.into_iter().chain(round.numbered().map(one)).collect()
}

/// The writer of the store, of all schedulers. An age is there once there is something that has an age.
fn store_writer(stats: &StoreWriterStats, at_ms: u64) -> TableRow {
    let row =
        TableRow::new("s-writer").text("scheduler", "writer").number("commits", stats.commits);
    let ago = |row: TableRow, key, then_ms: u64| match then_ms {
        0 => row,
        then_ms => row.number(key, at_ms.saturating_sub(then_ms)),
    };
    let row = row
        .number("last_commit_us", stats.last_commit_us)
        .number("longest_commit_us", stats.longest_commit_us)
        .number("checkpoints", stats.checkpoints)
        .number("last_checkpoint_us", stats.last_checkpoint_us)
        .number("longest_checkpoint_us", stats.longest_checkpoint_us);
    let row = ago(row, "last_commit_ago_ms", stats.last_commit_at_ms);
    ago(row, "last_checkpoint_ago_ms", stats.last_checkpoint_at_ms)
}
