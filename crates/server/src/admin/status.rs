//! Status and statistics as JSON.
//!
//! Owns the shape of `/status`, `/stats` and `/reload`. Times end in their unit; counts are since the start.

use pages::{PageCounts, PageProblem, PageReport, PagesReport};
use runtime::service::CloseReason;
use runtime::stats::Stats;
use script::engine::Code;
use serde_json::{Map, Value, json};

use super::handle::{Facts, Phase};
use super::round::Round;
use crate::message::{PagesRead, ReloadReport, SchedulerReport};

/// What is known without asking a scheduler.
pub(super) struct Known<'a> {
    pub(super) facts: &'a Facts,
    pub(super) phase: Phase,
    pub(super) reload: &'a ReloadReport,
    pub(super) pages: &'a PagesRead,
}

/// `/status`: what an operator looks at first.
pub(super) fn status(known: &Known<'_>, round: &Round, now: u64) -> Value {
    let Known { facts, phase, reload, pages } = known;
    let answered = || round.reports.iter().flatten();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "process": facts.process,
        "state": match phase {
            Phase::Serving => "serving",
            Phase::Draining => "draining",
        },
        "uptime_s": now.saturating_sub(facts.started),
        "directory": facts.directory,
        "listeners": facts.listeners,
        "schedulers": round.reports.len(),
        "schedulers_answering": answered().count(),
        "cpus": facts.cpus,
        "descriptor_tables": if facts.private_tables { "private" } else { "shared" },
        "sandbox": facts.sandbox,
        "connections": answered().map(|report| report.processes).sum::<usize>(),
        "requests": answered().map(|report| report.http.requests).sum::<u64>(),
        "configuration": answered().map(|report| report.generation).min(),
        "last_reload": self::reload(reload),
        "pages": self::pages_read(pages),
        "memory_resident_bytes": sys::accounting::resident_bytes().ok(),
        "connection_slot_bytes": facts.slot_bytes,
    })
}

/// How many pages there are, and what is wrong with some.
fn pages_read(report: &PagesRead) -> Value {
    let one = |problem: &PageProblem| {
        json!({
            "file": problem.file,
            "line": problem.problem.line,
            "column": problem.problem.column,
            "problem": problem.problem.what,
            "served": problem.served.as_str(),
        })
    };
    let problems: Vec<Value> = report.problems.iter().map(one).collect();
    json!({
        "count": report.count,
        "modules": report.modules,
        "edits": report.edits,
        "problems": problems,
    })
}

/// What became of a reload, and what is wrong with the pages that it read.
pub(super) fn reloaded(report: &ReloadReport, pages: &PagesRead) -> Value {
    let mut value = reload(report);
    value["page_problems"] = pages_read(pages)["problems"].take();
    value
}

/// What became of a reload.
pub(super) fn reload(report: &ReloadReport) -> Value {
    let state = match (report.number, report.problems.is_empty()) {
        (0, _) => "none",
        (_, true) => "in force",
        (_, false) => "refused",
    };
    json!({ "number": report.number, "state": state, "problems": report.problems })
}

/// `/stats`: everything, by scheduler.
pub(super) fn stats(facts: &Facts, round: &Round) -> Value {
    let one = |(number, report): (usize, &Option<SchedulerReport>)| match report {
        Some(report) => scheduler(facts, number, report),
        None => json!({ "scheduler": number, "answering": false }),
    };
    let schedulers: Vec<Value> = round.reports.iter().enumerate().map(one).collect();
    let log = round.log.map(|log| json!({ "lines_written": log.written, "lines_lost": log.lost }));
    json!({ "schedulers": schedulers, "log": log })
}

fn scheduler(facts: &Facts, number: usize, report: &SchedulerReport) -> Value {
    let runtime = &report.runtime;
    let http = &report.http;
    json!({
        "scheduler": number,
        "answering": true,
        "cpu": facts.cpus.get(number),
        "configuration": report.generation,
        "connections": report.processes,
        "processes": processes(facts, runtime),
        "turns": turns(facts, runtime),
        "time": time(facts, runtime),
        "network": network(runtime),
        "closed": closed(runtime),
        "mail": mail(runtime),
        "http": {
            "requests": http.requests,
            "by_class": { "1xx": http.by_class[1], "2xx": http.by_class[2], "3xx": http.by_class[3], "4xx": http.by_class[4], "5xx": http.by_class[5] },
            "refused": http.refused,
            "waited": http.waited,
            "waits_expired": http.waits_expired,
            "header_timeouts": http.header_timeouts,
            "body_timeouts": http.body_timeouts,
            "keep_alive_timeouts": http.keep_alive_timeouts,
            "proxy_refused": http.proxy_refused,
            "log_lines_dropped": http.log_dropped_lines,
        },
        "files": {
            "hits": report.cache.hits,
            "misses": report.cache.misses,
            "refreshes": report.cache.refreshes,
            "evictions": report.cache.evictions,
            "bytes": report.cache.bytes,
            "paths": report.cache.paths,
        },
        "pages": report.pages.as_ref().map(pages),
    })
}

/// All pages together, then each that was asked for.
fn pages(report: &PagesReport) -> Value {
    let held_bytes = report.sum(|page| page.held_bytes);
    let mut value = page_counts(&report.total, report.waiting as u64, held_bytes);
    value["spawned_waiting"] = json!(report.sum(|page| page.spawned_waiting));
    value["spawned_requests"] = json!(report.sum(|page| page.families));
    value["spawned_held_bytes"] = json!(report.sum(|page| page.spawned_held_bytes));
    value["process_memory_bytes"] = json!(report.process_memory_bytes);
    value["process_memory_max_bytes"] = json!(report.process_memory_max_bytes);
    let one = |page: &PageReport| {
        let mut value = page_counts(&page.counts, page.waiting, page.held_bytes);
        value["spawned_waiting"] = json!(page.spawned_waiting);
        value["spawned_requests"] = json!(page.families);
        value["spawned_held_bytes"] = json!(page.spawned_held_bytes);
        value["page"] = json!(page.page.as_deref().unwrap_or("others"));
        value["native"] = json!(page.counts.used.traces > 0);
        value
    };
    value["native"] = json!(report.code == Code::Native);
    value["memory_bytes"] = json!(report.memory_bytes);
    value["memory_max_bytes"] = json!(report.memory_max_bytes);
    value["page"] = report.pages.iter().map(one).collect();
    value
}

fn page_counts(counts: &PageCounts, waiting: u64, held_bytes: u64) -> Value {
    let kills = counts.kills().map(|(reason, count)| (reason.to_owned(), json!(count)));
    json!({
        "requests": counts.requests,
        "failures": counts.failures,
        "kills": Value::Object(kills.into_iter().collect()),
        "refused": counts.refused,
        "cancelled": counts.cancelled,
        "waiting": waiting,
        "spawned": counts.spawned,
        "spawned_cpu_us": counts.spawned_cpu_ns / 1_000,
        "slices": counts.slices,
        "cpu_us": counts.used.cpu_ns / 1_000,
        "held_bytes": held_bytes,
        "held_max_bytes": counts.held_max_bytes,
        "allocated_bytes": counts.used.allocated_bytes,
        "traces": counts.used.traces,
        "traces_aborted": counts.used.traces_aborted,
    })
}

/// How many processes there are of each kind.
fn processes(facts: &Facts, stats: &Stats) -> Value {
    let of_kind = |(kind, count): (&&str, u64)| ((*kind).to_owned(), json!(count));
    Value::Object(facts.kinds.iter().zip(stats.processes).map(of_kind).collect())
}

fn turns(facts: &Facts, stats: &Stats) -> Value {
    let culprit = stats.longest_turn_kind.and_then(|kind| facts.kinds.get(kind));
    json!({
        "count": stats.turns,
        "events": stats.events,
        "events_max": stats.events_max,
        "longest_ns": stats.longest_turn_ns,
        "longest_by": culprit,
        "deadlines": stats.deadlines,
        "timer_lag_max_ns": stats.timer_lag_max_ns,
        "panics": stats.panics,
    })
}

/// Shares of the sampled turns, and exact times asleep and spinning.
fn time(facts: &Facts, stats: &Stats) -> Value {
    let sampled = &stats.sampled;
    let per_us = sys::clock::ticks_per_microsecond().get();
    let us = |ticks: u64| ticks / per_us;
    let handlers: Map<String, Value> = facts
        .kinds
        .iter()
        .zip(sampled.handler_ticks)
        .map(|(kind, ticks)| ((*kind).to_owned(), json!(us(ticks))))
        .collect();
    json!({
        "sleeps": stats.sleeps,
        "asleep_ns": stats.asleep_ns,
        "spun_ns": stats.spun_ns,
        "spin_hits": stats.spin_hits,
        "spin_misses": stats.spin_misses,
        "spin_pauses": stats.spin_pauses,
        "sampled_turns": sampled.turns,
        "sampled_us": {
            "poll": us(sampled.poll_ticks),
            "accept": us(sampled.accept_ticks),
            "receive": us(sampled.receive_ticks),
            "send": us(sampled.send_ticks),
            "handlers": handlers,
        },
    })
}

fn network(stats: &Stats) -> Value {
    json!({
        "accepts": stats.accepts,
        "accepts_aborted": stats.accepts_aborted,
        "accepts_refused": stats.accepts_refused,
        "accepts_overloaded": stats.accepts_overloaded,
        "accept_pauses": stats.accept_pauses,
        "connections_max": stats.processes_max,
        "receives": stats.receives,
        "received_bytes": stats.received_bytes,
        "sends": stats.sends,
        "sends_blocked": stats.sends_blocked,
        "sent_bytes": stats.sent_bytes,
        "files_cold": stats.files_cold,
        "buffered_bytes": stats.buffered_bytes,
        "buffered_bytes_max": stats.buffered_bytes_max,
    })
}

fn closed(stats: &Stats) -> Value {
    let named = CloseReason::NAMES.iter().zip(stats.closed);
    Value::Object(named.map(|(name, count)| ((*name).to_owned(), json!(count))).collect())
}

fn mail(stats: &Stats) -> Value {
    json!({
        "sent": stats.mail.sent,
        "received": stats.mail.received,
        "full": stats.mail.full,
        "wakes_issued": stats.mail.wakes_issued,
        "wakes_coalesced": stats.mail.wakes_coalesced,
        "taken_max": stats.mail.taken_max,
    })
}
