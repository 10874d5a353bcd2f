//! System calls as a table: which, how often, how long.

use std::collections::BTreeMap;
use std::fmt::Write;

use syscalls::Sysno;

use crate::locks::time_in_words;
use crate::trace::Pairs;
use crate::waits::Waits;

/// The table of system calls over this many seconds; with a rate of requests per second, also calls per request.
#[must_use]
pub fn call_table(pairs: &Pairs, seconds: f64, requests: Option<f64>, most: usize) -> String {
    let mut all: BTreeMap<u64, Waits> = BTreeMap::new();
    for ((number, _), waits) in &pairs.all {
        let sum = all.entry(*number).or_default();
        sum.count += waits.count;
        sum.time_ns += waits.time_ns;
    }
    let mut rows: Vec<(u64, Waits)> = all.into_iter().collect();
    rows.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.count));
    let each = if requests.is_some() { "a request" } else { "" };
    let mut text = format!(
        "{:20}{:>10}{:>12}{:>12}{:>12}  {each}\n",
        "call", "calls", "a second", "time", "mean"
    );
    for (number, waits) in rows.into_iter().take(most) {
        let per_second = waits.count as f64 / seconds;
        let time = waits.time_ns as f64;
        let each = requests.map_or_else(String::new, |all| format!("{:.2}", per_second / all));
        let _endless = writeln!(
            text,
            "{:20}{:>10}{:>12.0}{:>12}{:>12}  {each:>9}",
            name(number),
            waits.count,
            per_second,
            time_in_words(time),
            time_in_words(time / waits.count.max(1) as f64),
        );
    }
    text
}

fn name(number: u64) -> String {
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
}
