//! Waits as a table: for what, where in the program, how often and how long; including locks.
//!
//! Owns which kernel functions wait for a lock, and which functions of the program only lead to a
//! wait.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::fold::{Frame, Mode};
use crate::waits::Waits;

/// Kernel functions in which a thread waits for a lock.
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

/// Parts of names of program functions that are on the way to a lock, but do not decide to take it.
const WAYS: [&str; 15] = [
    "futex",
    "sem_wait",
    "sem_trywait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_",
    "__lll_",
    "parking_lot",
    "std::sys",
    "std::sync",
    "std::thread",
    "sync.(*",
    "sync.runtime_",
    "syscall",
    "[unknown]",
];

/// Parts of names of kernel functions that are on the way to every wait.
const SCHEDULER: [&str; 3] = ["schedule", "wait_woken", "contention"];

/// Parts of names of kernel functions that take a lock.
const TAKERS: [&str; 3] = ["lock", "rwsem", "down_"];

/// Parts of names of kernel functions that record the profile itself.
const LOOKING: [&str; 2] = ["uprobe", "perf_event"];

/// Locks of the C library, by a part of the name of the function that takes them.
const OF_PROGRAMS: [(&str, &str); 4] =
    [("mutex", "mutex"), ("rwlock", "rwlock"), ("spin", "spin lock"), ("sem_", "semaphore")];

/// The records at one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// The kind of lock, or the system call, that threads wait for.
    pub kind: String,
    /// The stack, from the outermost frame on.
    pub frames: Vec<Frame>,
    /// Those of its frames that belong to the program, without the C library.
    pub own: Vec<Frame>,
    /// How often a lock was taken there; zero if nothing counted it.
    pub tries: u64,
    /// The waits.
    pub waits: Waits,
}

/// Waits for one thing at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// The kind of lock, or the system call, that threads wait for.
    pub kind: String,
    /// The function that waits; for kernel locks also the kernel's function.
    pub place: String,
    /// How often the lock was taken there; zero if nothing counted it.
    pub tries: u64,
    /// The waits.
    pub waits: Waits,
}

/// The kind of lock that the innermost function of a stack takes.
pub fn lock_taken_at(stack: &[Frame]) -> &'static str {
    let function = stack.last().map_or("", |frame| &*frame.name);
    OF_PROGRAMS.iter().find(|(part, _)| function.contains(part)).map_or("lock", |(_, kind)| kind)
}

/// The kind of lock that a stack waits for; `None` if it waits for something else.
pub fn lock_of(stack: &[Frame]) -> Option<&'static str> {
    let mut kernel = stack.iter().rev().filter(|frame| frame.mode == Mode::Kernel);
    kernel.find_map(|frame| {
        KINDS.iter().find(|(part, _)| frame.name.contains(part)).map(|(_, kind)| *kind)
    })
}

/// Whether a stack belongs to the profiling itself: probes and records have locks of their own.
pub fn is_of_looking(stack: &[Frame]) -> bool {
    let mut kernel = stack.iter().filter(|frame| frame.mode == Mode::Kernel);
    kernel.any(|frame| LOOKING.iter().any(|part| frame.name.contains(part)))
}

/// The kind of lock by the flags of `lock:contention_begin` (include/trace/events/lock.h).
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

/// Whether a kernel function is on the way to every wait.
pub(crate) fn is_way_to_wait(frame: &Frame) -> bool {
    SCHEDULER.iter().any(|part| frame.name.contains(part))
}

/// Rows of waits, sorted by time, then by attempts.
pub fn wait_rows(met: impl IntoIterator<Item = Met>) -> Vec<WaitRow> {
    let mut all: BTreeMap<(String, String), (u64, Waits)> = BTreeMap::new();
    for Met { kind, frames, own, tries, waits } in met {
        let is_kernels = kind.starts_with("kernel") || kind == "socket";
        let place = match is_kernels {
            true => place_in_kernel(&own, &frames),
            false => place_of(&own),
        };
        let (all_tries, sum) = all.entry((kind, place)).or_default();
        *all_tries += tries;
        sum.count += waits.count;
        sum.time_ns += waits.time_ns;
    }
    let row = |((kind, place), (tries, waits))| WaitRow { kind, place, tries, waits };
    let mut rows: Vec<WaitRow> = all.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.waits.time_ns, row.tries)));
    rows
}

/// Begins of names of functions that libraries of Rust have for everybody.
const OF_EVERYBODY: [&str; 6] = ["core::", "<core::", "alloc::", "<alloc::", "rustix::", "libc::"];

/// The innermost function of the program that is not on the way to a wait; without one, the innermost of all.
pub fn place_of(own: &[Frame]) -> String {
    let is_way = |frame: &&Frame| {
        WAYS.iter().any(|part| frame.name.contains(part))
            || OF_EVERYBODY.iter().any(|begin| frame.name.starts_with(begin))
    };
    let mut user = own.iter().rev().filter(|frame| frame.mode == Mode::User && !frame.is_inlined);
    let found = user.clone().find(|frame| !is_way(frame)).or_else(|| user.next());
    found.map_or("[unknown]", |frame| &*frame.name).to_owned()
}

/// The same for locks of the kernel, followed by the kernel function that takes the lock.
fn place_in_kernel(own: &[Frame], stack: &[Frame]) -> String {
    let is_lock =
        |frame: &&Frame| TAKERS.iter().chain(&SCHEDULER).any(|part| frame.name.contains(part));
    let mut kernel = stack.iter().rev().filter(|frame| frame.mode == Mode::Kernel);
    let user = place_of(own);
    kernel
        .find(|frame| !is_lock(frame))
        .map_or(user.clone(), |taker| format!("{user}: {}", taker.name))
}

/// Begins of names of calls in which a thread waits for events: mostly for work.
const FOR_EVENTS: [&str; 5] = ["epoll_", "poll", "ppoll", "select", "accept"];

/// The rows as a table; waits for events are the last ones, however long they are.
pub fn wait_table(rows: &[WaitRow], most: usize) -> String {
    let is_event = |row: &WaitRow| FOR_EVENTS.iter().any(|begin| row.kind.starts_with(begin));
    let mut rows = rows.to_vec();
    rows.sort_by_key(is_event);
    table(&rows, most, "for", ["waits"], |row| [row.waits.count.to_string()])
}

/// The rows as a table of locks: how often each was taken, and how often that had to wait.
pub fn lock_table(rows: &[WaitRow], most: usize) -> String {
    let heads = ["tries", "collisions", "of tries"];
    table(rows, most, "lock", heads, |row| {
        let part = row.waits.count as f64 * 100.0 / row.tries as f64;
        let (tries, part) = match row.tries {
            0 => ("-".to_owned(), "-".to_owned()),
            tries => (tries.to_string(), format!("{part:.2} %")),
        };
        [tries, row.waits.count.to_string(), part]
    })
}

fn table<const COUNTS: usize>(
    rows: &[WaitRow],
    most: usize,
    head: &str,
    heads: [&str; COUNTS],
    counts: impl Fn(&WaitRow) -> [String; COUNTS],
) -> String {
    let line = |kind: &str, counts: &[&str], [time, mean, share, place]: [&str; 4]| {
        let mut line = format!("{kind:28}");
        for count in counts.iter().chain([&time, &mean]) {
            let _endless = write!(line, "{count:>11}");
        }
        format!("{line}{share:>9}  {place}\n")
    };
    let mut text = line(head, &heads, ["time", "mean", "share", "where"]);
    let total = rows.iter().map(|row| row.waits.time_ns).sum::<u64>().max(1) as f64;
    for row in rows.iter().take(most) {
        let time = row.waits.time_ns as f64;
        let mean = time_in_words(time / row.waits.count.max(1) as f64);
        let share = format!("{:.1} %", time * 100.0 / total);
        let counts = counts(row);
        let counts = counts.each_ref().map(|count| &**count);
        text.push_str(&line(&row.kind, &counts, [&time_in_words(time), &mean, &share, &row.place]));
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
    use crate::folded_file::tests::stack;

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
        let met = |kind: &str, frames: &[Frame], tries, count, time_ns| Met {
            kind: kind.to_owned(),
            frames: frames.to_vec(),
            own: frames.to_vec(),
            tries,
            waits: Waits { count, time_ns },
        };
        let rows = wait_rows([
            met("futex", &mutex, 0, 2, 1_000),
            met("socket", &socket, 0, 1, 500),
            met("futex", &mutex, 0, 1, 3_000),
        ]);
        let told: Vec<_> =
            rows.iter().map(|row| (&*row.kind, &*row.place, row.waits.count)).collect();
        assert_eq!(told, [("futex", "shop::sell", 3), ("socket", "send: tcp_sendmsg", 1)]);
        let row =
            "futex                                 3     4.0 us     1.3 us   88.9 %  shop::sell";
        let table = wait_table(&rows, 10);
        assert!(table.contains(row), "{table}");
    }

    #[test]
    fn tries_and_collisions_of_a_place_are_one_row() {
        let taken = stack("main;serve;pthread_mutex_lock");
        let slow =
            stack("main;mmap;vm_mmap_pgoff_[k];down_write_[k];rwsem_down_write_slowpath_[k]");
        let read = stack("main;look;__pthread_rwlock_rdlock");
        let wait = stack("main;acquire;__new_sem_wait");
        let kinds = [&*taken, &read, &wait, &[]].map(lock_taken_at);
        assert_eq!(kinds, ["mutex", "rwlock", "semaphore", "lock"]);
        assert_eq!(place_of(&wait), "acquire");
        assert_eq!(place_of(&stack("main;serve;rustix::net::send;core::hint::must_use")), "serve");
        assert_eq!(place_of(&stack("pthread_cond_wait;syscall")), "syscall");
        let of_go = stack(
            "main.serve;main.update;sync.(*Mutex).Lock;internal/sync.runtime_SemacquireMutex",
        );
        assert_eq!(place_of(&of_go), "main.update");
        let own = stack("main;serve;uprobe_notify_resume_[k];handler_chain_[k];down_read_[k]");
        assert_eq!([&own, &slow].map(|stack| is_of_looking(stack)), [true, false]);
        let met = |kind: &str, frames: Vec<Frame>, tries, count, time_ns| Met {
            kind: kind.to_owned(),
            own: frames.clone(),
            frames,
            tries,
            waits: Waits { count, time_ns },
        };
        let rows = wait_rows([
            met("kernel rwsem", slow, 0, 1, 500),
            met("rwlock", read, 7, 0, 0),
            met("mutex", taken.clone(), 396, 0, 0),
            met("mutex", taken, 4, 10, 4_500),
            met("futex", stack("main;shop::sell;futex_wait_[k]"), 0, 1, 5_000),
        ]);
        let table = lock_table(&rows, 10);
        let expected = "\
lock                              tries collisions   of tries       time       mean    share  where
futex                                 -          1          -     5.0 us     5.0 us   50.0 %  shop::sell
mutex                               400         10     2.50 %     4.5 us     450 ns   45.0 %  serve
kernel rwsem                          -          1          -     500 ns     500 ns    5.0 %  mmap: vm_mmap_pgoff
rwlock                                7          0     0.00 %       0 ns       0 ns    0.0 %  look
";
        assert_eq!(table, expected);
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
