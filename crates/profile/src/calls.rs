//! System calls as a table: which, how often, how long, and with which errors.
//!
//! Owns the form of this table; `call_findings` knows what calls and errors indicate.

use std::collections::BTreeMap;

use syscalls::{Errno, Sysno};

use crate::locks::time_in_words;
use crate::trace::Pairs;
use crate::waits::Waits;

/// The table of system calls over this many seconds; with a rate of requests per second, also calls per request.
pub fn call_table(pairs: &Pairs, seconds: f64, requests: Option<f64>, most: usize) -> String {
    let mut rows: Vec<(u64, Waits)> = sums(pairs).into_iter().collect();
    rows.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.count));
    let each = if requests.is_some() { "a request" } else { "" };
    let mut text = format!(
        "{:20}{:>10}{:>12}{:>12}{:>12}  {each:>9}  errors\n",
        "call", "calls", "a second", "time", "mean"
    );
    for (number, waits) in rows.into_iter().take(most) {
        let per_second = waits.count as f64 / seconds;
        let time = waits.time_ns as f64;
        let each = requests.map_or_else(String::new, |all| format!("{:.2}", per_second / all));
        let line = format!(
            "{:20}{:>10}{:>12.0}{:>12}{:>12}  {each:>9}  {}",
            name(number),
            waits.count,
            per_second,
            time_in_words(time),
            time_in_words(time / waits.count.max(1) as f64),
            errors(pairs, number, waits.count),
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The calls of each number, of all threads.
pub(crate) fn sums(pairs: &Pairs) -> BTreeMap<u64, Waits> {
    let mut all: BTreeMap<u64, Waits> = BTreeMap::new();
    for ((number, _), waits) in &pairs.all {
        let sum = all.entry(*number).or_default();
        sum.count += waits.count;
        sum.time_ns += waits.time_ns;
    }
    all
}

/// Errors of a call that are listed.
const LISTED: usize = 3;

/// The errors of a call with their share, the most frequent first.
fn errors(pairs: &Pairs, number: u64, calls: u64) -> String {
    let mut all: Vec<(i32, u64)> = pairs
        .errors
        .range((number, i32::MIN)..=(number, i32::MAX))
        .map(|((_, error), count)| (*error, *count))
        .collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = |(error, count): &(i32, u64)| {
        format!("{} {:.1} %", error_name(*error), *count as f64 * 100.0 / calls.max(1) as f64)
    };
    all.iter().take(LISTED).map(told).collect::<Vec<_>>().join(", ")
}

pub(crate) fn error_name(error: i32) -> String {
    Errno::new(error).name().map_or_else(|| format!("error {error}"), str::to_owned)
}

/// How often calls were made whose names begin so.
pub fn calls_named(pairs: &Pairs, begin: &str) -> u64 {
    let calls = pairs.all.iter().filter(|((number, _), _)| name(*number).starts_with(begin));
    calls.map(|(_, waits)| waits.count).sum()
}

pub(crate) fn name(number: u64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("call {number}"), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Stack;

    #[test]
    fn calls_are_named_and_counted_for_a_request() {
        let mut pairs = Pairs::default();
        for (number, thread, count) in
            [(Sysno::sendto as u64, 1, 30), (Sysno::sendto as u64, 2, 70), (9_999, 1, 1)]
        {
            let stack = Stack { thread, ..Stack::default() };
            pairs.all.insert((number, stack), Waits { count, time_ns: count * 2_000 });
        }
        let table = call_table(&pairs, 2.0, Some(25.0), 10);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["sendto", "100", "50", "200.0", "us", "2.0", "us", "2.00"]
        );
        assert!(lines[2].starts_with("call 9999"), "{table}");
    }

    #[test]
    fn errors_are_shares_of_their_call() {
        let mut pairs = Pairs::default();
        let open = Sysno::openat as u64;
        pairs.all.insert((open, Stack::default()), Waits { count: 200, time_ns: 200 });
        pairs.errors.insert((open, Errno::ENOENT.into_raw()), 150);
        pairs.errors.insert((open, Errno::EACCES.into_raw()), 1);
        let table = call_table(&pairs, 1.0, None, 10);
        assert!(table.contains("  ENOENT 75.0 %, EACCES 0.5 %\n"), "{table}");
    }
}
