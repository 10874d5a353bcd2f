//! The views of several schedulers of one thing, joined.
//!
//! Owns how: numbers are added up, times are counted together.

use std::collections::BTreeMap;

use live::{CellValue, LatencyFigures, TableRow};

use super::round::Round;

/// The times of all schedulers together; those of routes also by class of status over all routes.
pub(super) fn latencies(round: &Round) -> Vec<LatencyFigures> {
    let mut all: BTreeMap<(String, String), LatencyFigures> = BTreeMap::new();
    let mut add = |of: &str, name: &str, latency: &LatencyFigures| {
        let known = all.entry((of.to_owned(), name.to_owned())).or_insert_with(|| LatencyFigures {
            of: of.to_owned(),
            name: name.to_owned(),
            ..LatencyFigures::default()
        });
        known.times.add(&latency.times);
    };
    for latency in round.answered().flat_map(|report| &report.shown.times) {
        match latency.of.strip_prefix("route ") {
            Some(class) => {
                add("class", class, latency);
                add("route", &latency.name, latency);
            }
            None => add(&latency.of, &latency.name, latency),
        }
    }
    all.into_values().collect()
}

/// Rows of one id as one row: numbers are added up.
pub(super) fn together(rows: impl Iterator<Item = TableRow>) -> Vec<TableRow> {
    let mut all: BTreeMap<String, TableRow> = BTreeMap::new();
    for row in rows {
        match all.get_mut(&row.id) {
            Some(known) => add_up(known, row),
            None => {
                all.insert(row.id.clone(), row);
            }
        }
    }
    all.into_values().collect()
}

fn add_up(known: &mut TableRow, row: TableRow) {
    for (key, value) in row.values {
        match (known.values.get_mut(&key), value) {
            (Some(CellValue::Number(sum)), CellValue::Number(number)) => *sum += number,
            (Some(_), _) => {}
            (None, value) => {
                known.values.insert(key, value);
            }
        }
    }
}
