//! The answer to `GET /live`: what all schedulers show, put together.
//!
//! Owns how the parts of schedulers become one snapshot: rows of one thing are added up, times are merged. The lists
//! have their columns in `lists`.

use std::collections::BTreeMap;

use live::{List, LiveTable, SchedulerInfo, ServerInfo, ServerSnapshot};

use super::facts::{Phase, StartFacts};
use super::joined::{latencies, together};
use super::lists;
use super::numbers::{self, LABELLED, Number, of_engines, of_page, of_scheduler};
use super::round::Round;
use crate::live::{Choice, ViewRequest};
use crate::message::SchedulerReport;

/// The server's view of itself.
pub(super) fn snapshot(
    facts: &StartFacts,
    phase: Phase,
    round: &Round,
    wish: &ViewRequest,
    at_ms: u64,
) -> ServerSnapshot {
    ServerSnapshot {
        format: live::FORMAT,
        at_ms,
        server: ServerInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: facts.process,
            started: facts.started,
            phase: phase.as_str().to_owned(),
            listeners: facts.listeners.clone(),
            resident_bytes: sys::accounting::resident_bytes().unwrap_or(0),
        },
        schedulers: schedulers(facts, round),
        latencies: latencies(round),
        list: list(facts, round, wish, at_ms),
        events: Vec::new(),
    }
}

fn schedulers(facts: &StartFacts, round: &Round) -> Vec<SchedulerInfo> {
    let one = |(number, report): (usize, &Option<SchedulerReport>)| match report {
        Some(report) => scheduler(facts, number, report),
        None => SchedulerInfo { number, ..SchedulerInfo::default() },
    };
    round.schedulers().iter().enumerate().map(one).collect()
}

fn scheduler(facts: &StartFacts, number: usize, report: &SchedulerReport) -> SchedulerInfo {
    let us = metric::microseconds;
    let mut accounts_us = BTreeMap::from([("wait".to_owned(), us(report.accounts.wait_ns))]);
    let names = runtime::account::TimeAccount::NAMES.into_iter().zip(report.accounts.ns);
    accounts_us.extend(names.map(|(name, ns)| (name.to_owned(), us(ns))));
    let mut numbers = BTreeMap::new();
    let mut add = |below: &str, told: Vec<Number>| {
        let named = |Number { metric, value }| (format!("{below}{}", metric.stats), value);
        numbers.extend(told.into_iter().map(named));
    };
    add("", of_scheduler(report));
    if let Some(pages) = &report.pages {
        add("pages.", of_page(&numbers::together(pages)));
        add("pages.", of_engines(&pages.memory));
    }
    for labelled in LABELLED.iter().filter(|labelled| labelled.metric.stats != "time.accounts_us") {
        for (name, value) in (labelled.read)(facts, report) {
            numbers.insert(format!("{}.{name}", labelled.metric.stats), value);
        }
    }
    let processes = facts.kinds.iter().zip(report.runtime.processes);
    let longest = report.shown.longest_run;
    let ran = longest.and_then(|longest| facts.kinds.get(longest.kind));
    SchedulerInfo {
        number,
        answers: true,
        wall_us: us(report.accounts.wall_ns),
        accounts_us,
        numbers,
        processes: processes.map(|(kind, count)| ((*kind).to_owned(), count)).collect(),
        longest_turn_ran: ran.map_or("", |kind| kind).to_owned(),
        longest_turn_us: longest.map_or(0, |longest| longest.us),
    }
}

pub(super) fn list(facts: &StartFacts, round: &Round, wish: &ViewRequest, at_ms: u64) -> LiveTable {
    let Some(list) = wish.list else { return LiveTable::default() };
    let (usual, columns) = lists::columns(list);
    let mut left_out = 0;
    let rows = match list {
        List::Connections | List::Processes | List::Channels | List::Keys => {
            let shown = || round.answered().map(|report| &report.shown);
            left_out = shown().map(|shown| shown.left_out).sum();
            let rows = together(shown().flat_map(|shown| shown.rows.iter().cloned()));
            lists::with_times(list, rows, round)
        }
        other => lists::rows(other, facts, round, at_ms),
    };
    let mut choice = Choice::new(wish, usual);
    rows.into_iter().for_each(|row| choice.offer(row));
    let sorted_by = choice.sort().to_owned();
    let (rows, also_left_out) = choice.finish();
    left_out += also_left_out;
    LiveTable { name: list.name().to_owned(), columns, rows, sorted_by, left_out }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_accounts_that_are_drawn_are_those_that_are_counted() {
        let counted = std::iter::once("wait").chain(runtime::account::TimeAccount::NAMES);
        let mut counted: Vec<&str> = counted.collect();
        let mut drawn = live::ACCOUNTS.to_vec();
        counted.sort_unstable();
        drawn.sort_unstable();
        assert_eq!(drawn, counted);
    }
}
