//! System calls as a table: which, how often, how long, and with which errors.
//!
//! Owns which errors of which calls indicate a cause, in words.

use std::collections::BTreeMap;

use syscalls::{Errno, Sysno};

use crate::locks::time_in_words;
use crate::trace::Pairs;
use crate::waits::Waits;

/// The table of system calls over this many seconds; with a rate of requests per second, also calls per request.
#[must_use]
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
fn sums(pairs: &Pairs) -> BTreeMap<u64, Waits> {
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

fn error_name(error: i32) -> String {
    Errno::new(error).name().map_or_else(|| format!("error {error}"), str::to_owned)
}

/// Errors, the begins of names of calls, and what they indicate.
const CAUSES: [(Errno, &[&str], &str); 17] = [
    (
        Errno::EMFILE,
        &[""],
        "the process has no descriptors left: raise LimitNOFILE or ulimit -n, or find what is not closed",
    ),
    (Errno::ENFILE, &[""], "the machine has no descriptors left: fs.file-max"),
    (
        Errno::ENOENT,
        &["open", "stat", "newfstat", "statx", "access", "faccess", "readlink"],
        "it looks for files that are not there, again and again",
    ),
    (Errno::ENOSPC, &["write", "pwrite", "fallocate", "open"], "the disk is full"),
    (Errno::EDQUOT, &["write", "pwrite", "fallocate", "open"], "the quota of the disk is used up"),
    (Errno::EFBIG, &["write", "pwrite"], "the file may not grow further: ulimit -f"),
    (Errno::EIO, &[""], "a disk or a device fails"),
    (
        Errno::ENOMEM,
        &["mmap", "mprotect", "munmap", "mremap", "brk", "madvise"],
        "no more mappings or memory: vm.max_map_count, ulimit -v, or the limit of its cgroup",
    ),
    (
        Errno::EAGAIN,
        &["clone", "fork", "vfork"],
        "no more threads or processes: pids.max of its cgroup, ulimit -u or kernel.pid_max",
    ),
    (
        Errno::EAGAIN,
        &["write", "send", "sendfile", "splice"],
        "send buffers are full: slow readers, or a small SO_SNDBUF or net.ipv4.tcp_wmem",
    ),
    (
        Errno::EADDRNOTAVAIL,
        &["connect", "bind"],
        "no local port is left for that address: keep connections, or widen net.ipv4.ip_local_port_range",
    ),
    (Errno::EADDRINUSE, &["bind", "listen"], "another program has the address"),
    (Errno::ECONNREFUSED, &["connect"], "the server behind it refuses connections"),
    (Errno::ETIMEDOUT, &["connect", "recv", "read"], "the server behind it does not answer"),
    (
        Errno::ENOBUFS,
        &["send", "write"],
        "the kernel has no room for packets: net.core.wmem_max, queues",
    ),
    (Errno::EPIPE, &["write", "send"], "it writes to connections that the other side has closed"),
    (Errno::ENOLCK, &["fcntl", "flock"], "the kernel has no room for file locks"),
];

/// The part of a call's results from which an error is worth a line, and how often a second.
const WORTH: f64 = 0.05;
const WORTH_RATE: f64 = 1.0;
/// The same of a file that is not there: programs look at several places when they start.
const MISSING_RATE: f64 = 500.0;

/// The causes that errors of calls indicate, the most frequent first.
#[must_use]
pub fn call_remarks(pairs: &Pairs, seconds: f64) -> Vec<String> {
    let sums = sums(pairs);
    let mut found: Vec<(u64, String)> = Vec::new();
    for ((number, error), count) in &pairs.errors {
        let calls = sums.get(number).map_or(1, |waits| waits.count.max(1));
        let part = *count as f64 / calls as f64;
        let call = name(*number);
        let is_cause = |(known, calls, _): &&(Errno, &[&str], &str)| {
            known.into_raw() == *error && calls.iter().any(|begin| call.starts_with(begin))
        };
        let cause = CAUSES.iter().find(is_cause);
        let is_missing = *error == Errno::ENOENT.into_raw();
        let rate = if is_missing { MISSING_RATE } else { WORTH_RATE };
        if let Some((_, _, cause)) = cause
            && part >= WORTH
            && *count as f64 >= seconds * rate
        {
            let (error, percent) = (error_name(*error), part * 100.0);
            found.push((*count, format!("{call}: {percent:.0} % fail with {error}: {cause}")));
        }
    }
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    found.into_iter().map(|(_, line)| line).collect()
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

    #[test]
    fn errors_are_shares_of_their_call_and_indicate_causes() {
        let mut pairs = Pairs::default();
        let open = Sysno::openat as u64;
        let waits = Waits { count: 200, time_ns: 200 };
        for number in [open, Sysno::read as u64] {
            pairs.all.insert((number, Stack::default()), waits);
            pairs.errors.insert((number, Errno::ENOENT.into_raw()), 150);
        }
        pairs.errors.insert((open, Errno::EACCES.into_raw()), 1);
        let table = call_table(&pairs, 1.0, None, 10);
        assert!(table.contains("  ENOENT 75.0 %, EACCES 0.5 %\n"), "{table}");
        let remarks = call_remarks(&pairs, 0.2);
        let [remark] = &remarks[..] else { panic!("{remarks:?}") };
        assert!(remark.starts_with("openat: 75 % fail with ENOENT: it looks"), "{remark}");
        assert!(call_remarks(&pairs, 1.0).is_empty());
    }
}
