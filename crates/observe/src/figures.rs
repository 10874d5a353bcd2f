//! The activity between two snapshots: rates, shares of time, percentiles, a list with rates in place of counts.
//!
//! Owns the subtraction, and which numbers of a server are shown. Draws nothing.

use std::collections::BTreeMap;

use live::{
    ACCOUNTS, CellValue, Column, ColumnGrowth, List, LiveTable, OperatorEvent, Quantiles,
    SchedulerInfo, ServerInfo, ServerSnapshot, TableRow,
};
use serde::Serialize;

use crate::ask::SnapshotRequest;

/// Numbers that only grow and are shown as rates: their names, and those in `velodrome ctl stats`.
const RATES: [(&str, &str); 13] = [
    ("requests", "http.requests"),
    ("received_bytes", "network.received_bytes"),
    ("sent_bytes", "network.sent_bytes"),
    ("accepts", "network.accepts"),
    ("connects", "network.connects"),
    ("pages", "pages.requests"),
    ("published", "channels.published"),
    ("delivered", "channels.delivered"),
    ("dropped", "channels.dropped"),
    ("commands", "resp.commands"),
    ("store_orders", "store.orders"),
    ("turns", "turns.count"),
    ("events", "turns.events"),
];

/// Bytes in use: their owners, and the numbers of which they are the sum.
const MEMORY: [(&str, &[&str]); 7] = [
    ("buffers", &["network.buffered_bytes"]),
    ("files", &["files.bytes"]),
    ("cache", &["cache.bytes"]),
    ("channels", &["channels.history_bytes", "channels.members_bytes"]),
    ("store", &["store.under_way_bytes", "store.kept_bytes", "store.held_bytes"]),
    ("pages", &["pages.memory_bytes"]),
    ("page_processes", &["pages.process_memory_bytes"]),
];

/// A snapshot, and what it was asked to contain.
#[derive(Clone, Debug)]
pub struct TakenSnapshot {
    /// The request.
    pub wanted: SnapshotRequest,
    /// The answer.
    pub snapshot: ServerSnapshot,
}

/// The activity between two moments, and the state at the later one.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// When the later moment was, in milliseconds since 1970.
    pub at_ms: u64,
    /// The time between the two.
    pub interval_ms: u64,
    /// The server.
    pub server: ServerInfo,
    /// Open connections.
    pub connections: u64,
    /// Its schedulers.
    pub schedulers: Vec<Lane>,
    /// Rates per second of the whole server, by `RATES`.
    pub rates: BTreeMap<&'static str, f64>,
    /// Bytes in use, by owner.
    pub memory: BTreeMap<&'static str, u64>,
    /// Live processes by kind.
    pub processes: BTreeMap<String, u64>,
    /// Times of the interval; classes of status first, then what was most frequent.
    pub latencies: Vec<ShownTimes>,
    /// The list, with rates per second in columns that count.
    #[serde(skip_serializing_if = "is_no_list")]
    pub list: LiveTable,
    /// The last events.
    pub events: Vec<OperatorEvent>,
}

fn is_no_list(list: &LiveTable) -> bool {
    list.columns.is_empty()
}

/// A scheduler.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// Its number.
    pub number: usize,
    /// Whether it answers.
    pub answers: bool,
    /// Shares of the interval by time account.
    pub shares: BTreeMap<&'static str, f64>,
    /// Turns per second.
    pub turns_per_s: f64,
    /// Events per turn.
    pub events_per_turn: f64,
    /// Its longest turn of the last seconds, in microseconds.
    pub longest_turn_us: u64,
    /// The work that ran in it.
    pub longest_turn_ran: String,
}

/// The times of one thing.
#[derive(Clone, Debug, Serialize)]
pub struct ShownTimes {
    /// The kind of thing timed.
    pub of: String,
    /// Its name.
    pub name: String,
    /// How many per second.
    pub per_s: f64,
    /// Percentiles.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

impl Figures {
    /// Subtracts two moments of the same server.
    pub fn between(earlier: &TakenSnapshot, later: &TakenSnapshot) -> Self {
        let (before, now) = (&earlier.snapshot, &later.snapshot);
        let pairs: Vec<Pair<'_>> =
            now.schedulers.iter().map(|now| Pair::of(&before.schedulers, now)).collect();
        let interval_us = pairs.iter().map(Pair::time_us).max().unwrap_or(0);
        let by_clock_ms = now.at_ms.saturating_sub(before.at_ms);
        let interval_ms = if interval_us > 0 { interval_us / 1_000 } else { by_clock_ms };
        let rate = |key| pairs.iter().map(|pair| pair.per_s(key)).sum();
        let sum = |key: &str| now.schedulers.iter().map(|one| number(one, key)).sum::<u64>();
        let latencies = times(before, now, interval_ms);
        let mut processes = BTreeMap::new();
        for (kind, count) in now.schedulers.iter().flat_map(|one| &one.processes) {
            *processes.entry(kind.clone()).or_insert(0) += count;
        }
        Self {
            at_ms: now.at_ms,
            interval_ms,
            server: now.server.clone(),
            connections: sum("connections"),
            schedulers: pairs.iter().map(Pair::lane).collect(),
            rates: RATES.into_iter().map(|(name, key)| (name, rate(key))).collect(),
            memory: MEMORY
                .into_iter()
                .map(|(owner, keys)| (owner, keys.iter().map(|key| sum(key)).sum()))
                .collect(),
            processes,
            list: with_times(list(earlier, later, interval_ms), &latencies),
            latencies,
            events: now.events.clone(),
        }
    }

    /// A rate by its name in `RATES`.
    pub fn rate(&self, name: &str) -> f64 {
        self.rates.get(name).copied().unwrap_or(0.0)
    }

    /// The share of an account of the time of all schedulers that answer.
    pub fn share(&self, account: &str) -> f64 {
        let shares: Vec<f64> =
            self.schedulers.iter().filter_map(|lane| lane.shares.get(account)).copied().collect();
        shares.iter().sum::<f64>() / (shares.len().max(1) as f64)
    }
}

/// A scheduler at two moments.
struct Pair<'a> {
    before: Option<&'a SchedulerInfo>,
    now: &'a SchedulerInfo,
}

fn number(scheduler: &SchedulerInfo, key: &str) -> u64 {
    scheduler.numbers.get(key).copied().unwrap_or(0)
}

impl<'a> Pair<'a> {
    fn of(before: &'a [SchedulerInfo], now: &'a SchedulerInfo) -> Self {
        Self { before: before.iter().find(|one| one.number == now.number), now }
    }

    fn grown(&self, of: impl Fn(&SchedulerInfo) -> u64) -> u64 {
        of(self.now).saturating_sub(self.before.map_or(0, of))
    }

    fn time_us(&self) -> u64 {
        self.grown(|one| one.wall_us)
    }

    fn per_s(&self, key: &str) -> f64 {
        match self.time_us() {
            0 => 0.0,
            time_us => self.grown(|one| number(one, key)) as f64 * 1e6 / time_us as f64,
        }
    }

    fn lane(&self) -> Lane {
        let used =
            |account: &str| self.grown(|one| one.accounts_us.get(account).copied().unwrap_or(0));
        let whole = ACCOUNTS.into_iter().map(used).sum::<u64>().max(1) as f64;
        let (turns, events) = (self.per_s("turns.count"), self.per_s("turns.events"));
        Lane {
            number: self.now.number,
            answers: self.now.answers,
            shares: ACCOUNTS.map(|account| (account, used(account) as f64 / whole)).into(),
            turns_per_s: turns,
            events_per_turn: if turns > 0.0 { events / turns } else { 0.0 },
            longest_turn_us: self.now.longest_turn_us,
            longest_turn_ran: self.now.longest_turn_ran.clone(),
        }
    }
}

fn times(before: &ServerSnapshot, now: &ServerSnapshot, interval_ms: u64) -> Vec<ShownTimes> {
    let mut all: Vec<ShownTimes> = Vec::new();
    for latency in &now.latencies {
        let same = |one: &&live::LatencyFigures| one.of == latency.of && one.name == latency.name;
        let earlier = before.latencies.iter().find(same).map(|one| &one.times);
        let quantiles = match earlier {
            Some(earlier) => latency.times.since(earlier).quantiles(),
            None => latency.times.quantiles(),
        };
        let per_s = quantiles.count as f64 * 1e3 / interval_ms.max(1) as f64;
        all.push(ShownTimes {
            of: latency.of.clone(),
            name: latency.name.clone(),
            per_s,
            quantiles,
        });
    }
    let rank = |one: &ShownTimes| match &*one.of {
        "class" => (0, 0, one.name.clone()),
        _ => (1, u64::MAX - one.quantiles.count, one.name.clone()),
    };
    all.sort_by_key(rank);
    all
}

fn list(earlier: &TakenSnapshot, later: &TakenSnapshot, interval_ms: u64) -> LiveTable {
    let mut list = later.snapshot.list.clone();
    let before = &earlier.snapshot.list;
    let is_same = earlier.wanted.list == later.wanted.list;
    // A row that a complete list did not have is new, so everything it counts happened since.
    let is_complete =
        is_same && before.left_out == 0 && earlier.wanted.filter == later.wanted.filter;
    let counting: Vec<Column> =
        list.columns.iter().filter(|column| column.counts == ColumnGrowth::Up).cloned().collect();
    let known: BTreeMap<&str, &TableRow> = match is_same {
        true => before.rows.iter().map(|row| (&*row.id, row)).collect(),
        false => BTreeMap::new(),
    };
    for row in &mut list.rows {
        let earlier = known.get(&*row.id);
        for Column { key, .. } in &counting {
            let Some(count) = row.values.get(key).and_then(number_of) else { continue };
            let before = match earlier {
                Some(earlier) => earlier.values.get(key).and_then(number_of).unwrap_or(0.0),
                None if is_complete => 0.0,
                None => {
                    row.values.remove(key);
                    continue;
                }
            };
            let rate = (count - before).max(0.0) * 1e3 / interval_ms.max(1) as f64;
            row.values.insert(key.clone(), CellValue::Fraction(rate));
        }
    }
    list
}

/// The percentiles of a row, which the server counts since its start, are those of the interval; none if nothing was
/// timed.
fn with_times(mut list: LiveTable, latencies: &[ShownTimes]) -> LiveTable {
    let Some(kind) = List::of_name(&list.name) else { return list };
    for row in &mut list.rows {
        let is_its = |times: &&ShownTimes| kind.timed_as(row) == Some((&times.of, &times.name));
        let Some(quantiles) = latencies.iter().find(is_its).map(|times| times.quantiles) else {
            continue;
        };
        let shown = [
            ("p50_us", quantiles.p50_ns),
            ("p99_us", quantiles.p99_ns),
            ("max_us", quantiles.max_ns),
        ];
        for (key, time_ns) in shown {
            if row.values.remove(key).is_some() && quantiles.count > 0 {
                row.values.insert(key.to_owned(), CellValue::Number(time_ns / 1_000));
            }
        }
    }
    list
}

/// The number of a value; `None` if it is a text.
pub(crate) fn number_of(value: &CellValue) -> Option<f64> {
    match value {
        CellValue::Number(number) => Some(*number as f64),
        CellValue::Fraction(number) => Some(*number),
        CellValue::Text(_) => None,
    }
}
