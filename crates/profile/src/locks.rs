//! Waits as a table: for what, where in the program, how often and how long; locks among them.
//!
//! Owns which functions of the kernel wait for a lock, and which of the program only lead to a wait.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::fold::{Frame, Mode};
use crate::waits::Waits;

/// Functions of the kernel in which a thread waits for a lock.
const KINDS: [(&str, &str); 8] = [
    ("futex_wait", "futex"),
    ("lock_sock", "socket"),
    ("mutex_lock", "kernel mutex"),
    ("rwsem_down", "kernel rwsem"),
    ("rt_mutex", "kernel rt mutex"),
    ("percpu_down", "kernel percpu rwsem"),
    ("queued_spin_lock", "kernel spin lock"),
    ("queued_read_lock", "kernel rw lock"),
];

/// Parts of names in the program that are the way to a lock, not the place that takes it.
const WAYS: [&str; 9] = [
    "futex",
    "pthread_",
    "__lll_",
    "parking_lot",
    "std::sys",
    "std::sync",
    "std::thread",
    "syscall",
    "[unknown]",
];

/// Parts of names in the kernel that are the way to any wait.
const SCHEDULER: [&str; 3] = ["schedule", "wait_woken", "contention"];

/// Waits for one thing at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// The kind of lock, or the system call, that threads wait for.
    pub kind: String,
    /// The function that waits; for locks of the kernel also the kernel's.
    pub place: String,
    /// The waits.
    pub waits: Waits,
}

/// The kind of lock that a stack waits for; none where it waits for something else.
#[must_use]
pub fn lock_of(stack: &[Frame]) -> Option<&'static str> {
    let mut kernel = stack.iter().rev().filter(|frame| frame.mode == Mode::Kernel);
    kernel.find_map(|frame| {
        KINDS.iter().find(|(part, _)| frame.name.contains(part)).map(|(_, kind)| *kind)
    })
}

/// The kind of lock by the flags of `lock:contention_begin` (include/trace/events/lock.h).
#[must_use]
pub fn kind_of_flags(flags: u64) -> &'static str {
    let has = |bit: u64| flags & bit != 0;
    match flags {
        _ if has(32) => "kernel mutex",
        _ if has(8) => "kernel rt mutex",
        _ if has(16) => "kernel percpu rwsem",
        _ if has(1) && has(2 | 4) => "kernel rw lock",
        _ if has(1) => "kernel spin lock",
        _ if has(2 | 4) => "kernel rwsem",
        _ => "kernel lock",
    }
}

/// What a stack waits for: the system call, or the function of the kernel where it was in none.
#[must_use]
pub fn wait_of(stack: &[Frame]) -> String {
    let kernel = || stack.iter().filter(|frame| frame.mode == Mode::Kernel);
    let call = kernel().find_map(|frame| Some(frame.name.split_once("_sys_")?.1.to_owned()));
    let is_way = |frame: &&Frame| !SCHEDULER.iter().any(|part| frame.name.contains(part));
    let other = || kernel().rev().find(is_way).map(|frame| frame.name.clone());
    call.or_else(other).unwrap_or_else(|| "[unknown]".to_owned())
}

/// Rows of waits, the longest first.
#[must_use]
pub fn wait_rows(waits: impl IntoIterator<Item = (String, Vec<Frame>, Waits)>) -> Vec<WaitRow> {
    let mut all: BTreeMap<(String, String), Waits> = BTreeMap::new();
    for (kind, stack, waits) in waits {
        let is_kernels = kind.starts_with("kernel") || kind == "socket";
        let place = place(&stack, if is_kernels { Owner::Kernel } else { Owner::Program });
        let sum = all.entry((kind, place)).or_default();
        sum.count += waits.count;
        sum.time_ns += waits.time_ns;
    }
    let row = |((kind, place), waits)| WaitRow { kind, place, waits };
    let mut rows: Vec<WaitRow> = all.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.waits.time_ns));
    rows
}

/// Whose lock it is.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Program,
    Kernel,
}

/// The innermost function of the program that is not on the way to a wait, and behind it the function of the kernel that takes its own lock.
fn place(stack: &[Frame], owner: Owner) -> String {
    let is_way = |frame: &&Frame| WAYS.iter().any(|part| frame.name.contains(part));
    let user = stack.iter().rev().filter(|frame| frame.mode == Mode::User && !frame.is_inlined);
    let user = user.clone().find(|frame| !is_way(frame));
    let user = user.map_or("[unknown]", |frame| &*frame.name);
    let is_lock = |frame: &&Frame| {
        frame.name.contains("lock") || SCHEDULER.iter().any(|part| frame.name.contains(part))
    };
    let kernel = stack.iter().rev().filter(|frame| frame.mode == Mode::Kernel);
    match kernel.clone().find(|frame| !is_lock(frame)).filter(|_| owner == Owner::Kernel) {
        Some(kernel) => format!("{user}: {}", kernel.name),
        None => user.to_owned(),
    }
}

/// The rows as a table.
#[must_use]
pub fn wait_table(rows: &[WaitRow], head: &str, most: usize) -> String {
    let total = rows.iter().map(|row| row.waits.time_ns).sum::<u64>().max(1) as f64;
    let mut text =
        format!("{head:20}{:>10}{:>12}{:>12}{:>8}  where\n", "waits", "time", "mean", "share");
    for row in rows.iter().take(most) {
        let time = row.waits.time_ns as f64;
        let _endless = writeln!(
            text,
            "{:20}{:>10}{:>12}{:>12}{:>6.1} %  {}",
            row.kind,
            row.waits.count,
            time_in_words(time),
            time_in_words(time / row.waits.count.max(1) as f64),
            time * 100.0 / total,
            row.place,
        );
    }
    text
}

/// A time with its unit.
pub(crate) fn time_in_words(time_ns: f64) -> String {
    match time_ns {
        0.0..1e3 => format!("{time_ns:.0} ns"),
        1e3..1e6 => format!("{:.1} us", time_ns / 1e3),
        1e6..1e9 => format!("{:.1} ms", time_ns / 1e6),
        _ => format!("{:.2} s", time_ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(text: &str) -> Vec<Frame> {
        let folded = crate::Folded::from_text(&format!("{text} 1\n")).unwrap_or_default();
        folded.stacks.into_keys().next().unwrap_or_default()
    }

    #[test]
    fn a_lock_is_told_from_other_waits_and_has_its_place() {
        let mutex = stack(
            "main;shop::sell;std::sync::mutex::lock;std::sys::sync::futex_wait;syscall;do_futex_[k];futex_wait_[k];schedule_[k]",
        );
        let socket =
            stack("main;send;tcp_sendmsg_[k];lock_sock_nested_[k];__lock_sock_[k];schedule_[k]");
        let idle = stack("main;epoll_wait;__x64_sys_epoll_wait_[k];do_epoll_wait_[k];schedule_[k]");
        assert_eq!(
            (lock_of(&mutex), lock_of(&socket), lock_of(&idle)),
            (Some("futex"), Some("socket"), None)
        );
        assert_eq!(wait_of(&idle), "epoll_wait");
        assert_eq!(
            wait_of(&stack("main;asm_exc_page_fault_[k];folio_wait_bit_[k];io_schedule_[k]")),
            "folio_wait_bit"
        );
        let waits = |count, time_ns| Waits { count, time_ns };
        let rows = wait_rows([
            ("futex".to_owned(), mutex.clone(), waits(2, 1_000)),
            ("socket".to_owned(), socket, waits(1, 500)),
            ("futex".to_owned(), mutex, waits(1, 3_000)),
        ]);
        let told: Vec<_> =
            rows.iter().map(|row| (&*row.kind, &*row.place, row.waits.count)).collect();
        assert_eq!(told, [("futex", "shop::sell", 3), ("socket", "send: tcp_sendmsg", 1)]);
        let table = wait_table(&rows, "lock", 10);
        assert!(
            table.contains(
                "futex                        3      4.0 us      1.3 us  88.9 %  shop::sell"
            ),
            "{table}"
        );
    }

    #[test]
    fn flags_of_the_kernel_are_kinds() {
        let kinds = [33, 32, 1, 5, 2, 16, 8, 0].map(kind_of_flags);
        assert_eq!(
            kinds,
            [
                "kernel mutex",
                "kernel mutex",
                "kernel spin lock",
                "kernel rw lock",
                "kernel rwsem",
                "kernel percpu rwsem",
                "kernel rt mutex",
                "kernel lock"
            ]
        );
    }
}
