//! Status and statistics as JSON.
//!
//! Owns the shape of `/status`, `/stats` and `/reload`. Names of times end in their unit; counts
//! are since the start.

use pages::{PageProblem, PageReport, PagesReport};
use quota::LimitCounts;
use script::engine::Code;
use serde_json::{Value, json};

use super::certificates::Certificates;
use super::facts::{Phase, StartFacts};
use super::numbers::{
    KILLS, LABELLED, Labelled, Number, of_engines, of_page, of_scheduler, together,
};
use super::round::Round;
use crate::link_report;
use crate::maintenance::Switches;
use crate::message::{PagesRead, ReloadReport, SchedulerReport};
use crate::store_writer_stats::StoreWriterStats;
use crate::upstream_report;

/// The part of the status that needs no query. Plain data.
pub(crate) struct Known<'a> {
    pub(crate) facts: &'a StartFacts,
    pub(crate) phase: Phase,
    pub(crate) maintenance: Switches,
    pub(crate) reload: &'a ReloadReport,
    pub(crate) pages: &'a PagesRead,
    pub(crate) certificates: &'a Certificates,
}

/// `/status`: what operators look at first.
pub(super) fn status(known: &Known<'_>, round: &Round, now: u64) -> Value {
    let Known { facts, phase, maintenance, reload, pages, certificates } = known;
    let answered = || round.answered();
    let mut value = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "process": facts.process,
        "state": phase.as_str(),
        "maintenance": maintenance.as_str(),
        "uptime_s": now.saturating_sub(facts.started),
        "directory": facts.directory,
        "listeners": facts.listeners,
        "schedulers": round.schedulers().len(),
        "schedulers_answering": answered().count(),
        "cpus": facts.pinned_cpus(),
        "descriptor_tables": if facts.private_tables { "private" } else { "shared" },
        "sandbox": facts.sandbox,
        "connections": answered().map(|report| report.processes).sum::<usize>(),
        "requests": answered().map(|report| report.http.requests).sum::<u64>(),
        "configuration": answered().map(|report| report.generation).min(),
        "last_reload": self::reload(reload),
        "pages": self::pages_read(pages),
        "certificates": certificates.shown(now),
        "certificate_orders": certificates.orders(now),
        "limits": self::limits(answered()),
        "upstreams": upstreams(round),
        "cluster": link_report::together(answered().filter_map(|report| report.cluster.as_ref())),
        "memory_resident_bytes": sys::accounting::resident_bytes().ok(),
        "connection_slot_bytes": facts.slot_bytes,
    });
    if let Some(why) = certificates.refused() {
        put(&mut value, "certificates_refused", json!(why));
    }
    // A store that is alone has no role to speak of.
    if let Some(role) = round.store_writer().and_then(StoreWriterStats::role) {
        put(&mut value, "store", role);
    }
    value
}

/// The upstreams of all schedulers together.
pub(super) fn upstreams(round: &Round) -> Value {
    upstream_report::together(round.answered().map(|report| &*report.upstreams))
}

/// The caches of upstreams, of all schedulers together.
pub(super) fn caches(round: &Round) -> Value {
    let mut sum = cache::CacheStats::default();
    round.answered().for_each(|report| sum.add(&report.upstream_caches));
    let mut value = json!({});
    for row in cache::CacheStats::ROWS {
        let name = row.metric.stats;
        put(&mut value, name.strip_prefix("cache.").unwrap_or(name), json!((row.read)(&sum)));
    }
    for Number { metric, value: number } in round.of_disks() {
        put(&mut value, &metric.stats.replace("cache_disk", "disk"), json!(number));
    }
    value
}

/// How often each limit has refused, delayed and forgotten, on all schedulers together.
fn limits<'r>(reports: impl Iterator<Item = &'r SchedulerReport>) -> Value {
    let mut sums: Vec<LimitCounts> = Vec::new();
    for counts in reports.flat_map(|report| &report.limits) {
        match sums.iter_mut().find(|sum| sum.name == counts.name) {
            Some(sum) => {
                sum.refused += counts.refused;
                sum.delayed += counts.delayed;
                sum.forgotten += counts.forgotten;
            }
            None => sums.push(counts.clone()),
        }
    }
    let one = |sum: &LimitCounts| {
        let LimitCounts { name, refused, delayed, forgotten } = sum;
        json!({ "name": **name, "refused": refused, "delayed": delayed, "forgotten": forgotten })
    };
    sums.iter().map(one).collect()
}

/// The number of pages, and the problems of broken ones.
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

/// The result of a reload, and the problems of the pages it loaded.
pub(super) fn reloaded(report: &ReloadReport, pages: &PagesRead) -> Value {
    let mut value = reload(report);
    value["page_problems"] = pages_read(pages)["problems"].take();
    value
}

/// The result of a reload.
pub(super) fn reload(report: &ReloadReport) -> Value {
    let state = match (report.number, report.problems.is_empty()) {
        (0, _) => "none",
        (_, true) => "in force",
        (_, false) => "refused",
    };
    json!({ "number": report.number, "state": state, "problems": report.problems })
}

/// `/stats`: every counter, by scheduler.
pub(super) fn stats(facts: &StartFacts, round: &Round) -> Value {
    let one = |(number, report): (usize, &Option<SchedulerReport>)| match report {
        Some(report) => scheduler(facts, number, report),
        None => json!({ "scheduler": number, "answering": false }),
    };
    let schedulers: Vec<Value> = round.schedulers().iter().enumerate().map(one).collect();
    let log =
        round.log().map(|log| json!({ "lines_written": log.written, "lines_lost": log.lost }));
    let mut value = json!({ "schedulers": schedulers, "log": log });
    put_numbers(&mut value, round.of_helpers());
    value
}

fn scheduler(facts: &StartFacts, number: usize, report: &SchedulerReport) -> Value {
    let culprit = report.runtime.longest_turn_kind.and_then(|kind| facts.kinds.get(kind));
    let mut value = json!({
        "scheduler": number,
        "answering": true,
        "cpu": facts.cpus.get(number),
        "configuration": report.generation,
        "turns": { "longest_by": culprit },
        "pages": report.pages.as_ref().map(pages),
    });
    put_numbers(&mut value, of_scheduler(report));
    for Labelled { metric, read, .. } in LABELLED {
        let named = read(facts, report).into_iter();
        let named = named.map(|(name, number)| (name.to_owned(), json!(number)));
        put(&mut value, metric.stats, Value::Object(named.collect()));
    }
    value
}

fn put_numbers(value: &mut Value, numbers: impl IntoIterator<Item = Number>) {
    for Number { metric, value: number } in numbers {
        put(value, metric.stats, json!(number));
    }
}

/// Inserts a number at the path given by its name: keys separated by dots.
fn put(value: &mut Value, stats: &str, number: Value) {
    let mut place = value;
    for key in stats.split('.') {
        place = &mut place[key];
    }
    *place = number;
}

/// All pages together, then each requested page.
fn pages(report: &PagesReport) -> Value {
    let mut value = page(&together(report));
    put_numbers(&mut value, of_engines(&report.memory));
    let one = |report: &PageReport| {
        let mut value = page(report);
        value["page"] = json!(report.page.as_deref().unwrap_or("others"));
        value["native"] = json!(report.counts.traces > 0);
        value
    };
    value["native"] = json!(report.code == Code::Native);
    value["page"] = report.pages.iter().map(one).collect();
    value
}

fn page(report: &PageReport) -> Value {
    let mut value = json!({});
    put_numbers(&mut value, of_page(report));
    let kills = report.counts.kills().map(|(reason, count)| (reason.to_owned(), json!(count)));
    value[KILLS.stats] = Value::Object(kills.into_iter().collect());
    value
}

/// The native code of pages, one line for each piece, in the format that profilers read from `/tmp/perf-PID.map`
/// (tools/perf/Documentation/jit-interface.txt of Linux).
pub(super) fn native_code(round: &Round) -> String {
    let pieces = round.answered().flat_map(|report| &report.native_code);
    pieces
        .map(|piece| format!("{:x} {:x} page {}\n", piece.address, piece.bytes, piece.place))
        .collect()
}
