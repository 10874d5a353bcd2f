//! The columns of each list, and the rows of those that are made of reports.
//!
//! Owns both. The rows of connections, suspended pages and channels come from schedulers (`crate::live`).

use std::collections::BTreeMap;

use live::{Column, ColumnGrowth, ColumnUnit, FETCHED, LatencyFigures, List, TableRow};

use super::facts::StartFacts;
use super::joined::{latencies, together};
use super::round::Round;
use crate::store_writer_stats::StoreWriterStats;

/// A column whose values are what is now.
fn now(key: &str, title: &str, unit: ColumnUnit) -> Column {
    Column::new(key, title, unit, ColumnGrowth::Now)
}

/// A column whose values only grow.
fn up(key: &str, title: &str, unit: ColumnUnit) -> Column {
    Column::new(key, title, unit, ColumnGrowth::Up)
}

/// The column by which the rows of a list are chosen if nobody says, and its columns.
pub(super) fn columns(list: List) -> (&'static str, Vec<Column>) {
    match list {
        List::Connections | List::Routes | List::Upstreams | List::Listeners => of_traffic(list),
        List::Pages | List::Processes | List::Channels | List::Keys => of_applications(list),
        List::Mailboxes | List::Store => of_schedulers(list),
    }
}

fn of_traffic(list: List) -> (&'static str, Vec<Column>) {
    use ColumnUnit::{Bytes, Count, Microseconds, Milliseconds, Text};
    match list {
        List::Connections => (
            "cpu_us",
            vec![
                now("peer", "client", Text),
                now("kind", "kind", Text),
                now("state", "state", Text),
                now("scheduler", "scheduler", Count),
                now("encrypted", "TLS", Text),
                now("age_ms", "age", Milliseconds),
                now("idle_ms", "idle", Milliseconds),
                up("requests", "requests", Count),
                up("cpu_us", "CPU", Microseconds),
                up("received_bytes", "in", Bytes),
                up("sent_bytes", "out", Bytes),
                now("queued_bytes", "unsent", Bytes),
                now("unread_bytes", "unread", Bytes),
            ],
        ),
        List::Routes => (
            "requests",
            vec![
                now("name", "route", Text),
                up("requests", "requests", Count),
                up("4xx", "4xx", Count),
                up("5xx", "5xx", Count),
                now("p50_us", "p50", Microseconds),
                now("p99_us", "p99", Microseconds),
                now("max_us", "max", Microseconds),
            ],
        ),
        List::Upstreams => (
            "requests",
            vec![
                now("server", "server", Text),
                now("upstream", "upstream", Text),
                now("state", "state", Text),
                now("open", "open", Count),
                up("requests", "requests", Count),
                up("failures", "failures", Count),
                now("p50_us", "p50", Microseconds),
                now("p99_us", "p99", Microseconds),
            ],
        ),
        List::Listeners => ("address", vec![now("address", "address", Text)]),
        _ => ("", Vec::new()),
    }
}

fn of_applications(list: List) -> (&'static str, Vec<Column>) {
    use ColumnUnit::{Bytes, Count, Microseconds, Text};
    match list {
        List::Pages => (
            "cpu_us",
            vec![
                now("page", "page", Text),
                up("requests", "requests", Count),
                up("cpu_us", "CPU", Microseconds),
                up("slices", "slices", Count),
                up("failures", "failures", Count),
                up("kills", "kills", Count),
                now("waiting", "waiting", Count),
                now("held_bytes", "memory", Bytes),
                up("allocated_bytes", "allocated", Bytes),
                now("p50_us", "p50", Microseconds),
                now("p99_us", "p99", Microseconds),
            ],
        ),
        List::Processes => (
            "messages",
            vec![
                now("page", "page", Text),
                now("kind", "kind", Text),
                now("state", "state", Text),
                now("waits_for", "waits for", Text),
                now("name", "name", Text),
                now("scheduler", "scheduler", Count),
                now("messages", "messages", Count),
                now("mailbox_bytes", "mailbox", Bytes),
                now("memory_bytes", "memory", Bytes),
            ],
        ),
        List::Keys => (
            "uses",
            vec![
                now("key", "key", Text),
                now("database", "database", Count),
                up("uses", "uses", Count),
            ],
        ),
        List::Channels => (
            "subscribers",
            vec![
                now("name", "channel", Text),
                now("subscribers", "subscribers", Count),
                up("published", "published", Count),
                now("behind", "behind", Count),
                up("dropped", "drops", Count),
                now("kept", "kept", Count),
                now("kept_bytes", "kept size", Bytes),
                now("p50_us", "p50", Microseconds),
                now("p99_us", "p99", Microseconds),
                now("pattern", "rules", Text),
            ],
        ),
        _ => ("", Vec::new()),
    }
}

fn of_schedulers(list: List) -> (&'static str, Vec<Column>) {
    use ColumnUnit::{Bytes, Count, Microseconds, Milliseconds, Text};
    match list {
        List::Mailboxes => (
            "received",
            vec![
                now("scheduler", "scheduler", Text),
                up("received", "received", Count),
                up("sent", "sent", Count),
                up("full", "full", Count),
                up("wakes", "wakes", Count),
                now("taken_max", "most in a turn", Count),
            ],
        ),
        List::Store => (
            "orders",
            vec![
                now("scheduler", "scheduler", Text),
                up("orders", "orders", Count),
                up("messages", "messages", Count),
                up("waited", "waits", Count),
                up("failed", "failed", Count),
                now("under_way_bytes", "under way", Bytes),
                now("lent", "snapshots lent", Count),
                up("commits", "commits", Count),
                now("last_commit_us", "commit took", Microseconds),
                now("longest_commit_us", "longest commit", Microseconds),
                now("last_commit_ago_ms", "commit ago", Milliseconds),
                up("checkpoints", "checkpoints", Count),
                now("last_checkpoint_us", "checkpoint took", Microseconds),
                now("longest_checkpoint_us", "longest checkpoint", Microseconds),
                now("last_checkpoint_ago_ms", "checkpoint ago", Milliseconds),
            ],
        ),
        _ => ("", Vec::new()),
    }
}

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
