//! The kind of a wait: for which system call and cause, and whether it is a pool that waits for work.
//!
//! Owns which kernel functions name a cause. `locks` knows those that take locks.

use crate::fold::{Frame, Mode};
use crate::locks::{Met, is_way_to_wait, wait_rows};
use crate::waits::Waits;

/// Parts of names of kernel functions in which a thread waits, and the cause. The first that fits counts.
const CAUSES: [(&str, &str); 25] = [
    ("ptrace_stop", "a tracer"),
    ("do_signal_stop", "stopped by a signal"),
    ("do_freezer_trap", "frozen"),
    ("throttle_cfs", "CPU quota"),
    ("balance_dirty_pages", "dirty pages"),
    ("mem_cgroup_handle_over_high", "memory.high"),
    ("try_to_free_pages", "memory reclaim"),
    ("pipe_write", "full pipe"),
    ("unix_wait_for_peer", "slow reader of a local socket"),
    ("unix_dgram_sendmsg", "slow reader of a local socket"),
    ("locks_lock_inode_wait", "file lock"),
    ("sk_stream_wait_memory", "full send buffer"),
    ("sock_alloc_send_pskb", "full send buffer"),
    ("sock_wait_for_wmem", "full send buffer"),
    ("fanotify_", "a program that is asked first (fanotify)"),
    ("fuse_", "a file system that is a program (FUSE)"),
    ("log_wait_commit", "journal"),
    ("wait_on_commit", "journal"),
    ("submit_bio_wait", "disk"),
    ("blk_", "disk"),
    ("io_schedule", "disk"),
    ("folio_wait", "disk"),
    ("filemap_fault", "disk"),
    ("lock_sock", "socket lock"),
    ("rwsem_down", "kernel rwsem"),
];

/// Parts of names of functions that ask for the address of a name.
const NAME_SERVICE: [&str; 5] =
    ["getaddrinfo", "gethostby", "getnameinfo", "res_nsend", "res_nquery"];

/// Begins of names of functions of a program in which a thread waits for somebody else's turn, and what that is. The
/// first that fits counts.
const TURNS: [(&str, &str); 4] = [
    ("ObjectMonitor::enter", "monitor of Java (synchronized)"),
    ("ObjectMonitor::EnterI", "monitor of Java (synchronized)"),
    ("ProcSleep", "lock of a row or table"),
    ("LWLockAcquire", "lock of PostgreSQL's memory"),
];

/// System calls in which a thread waits for work.
const FOR_WORK: [&str; 19] = [
    "accept",
    "accept4",
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    "io_uring_enter",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "select",
    "wait4",
    "waitid",
    "restart_syscall",
];

/// Parts of names of functions that take a lock: a thread in one of them is not idle.
const LOCKS: [&str; 7] =
    ["mutex_lock", "lll_lock", "rwlock_", "spin_lock", "take_gil", "lock_slow", "lock_contended"];

/// The part of the time from which a thread that waits at one place is idle, and the mean of its waits.
const IDLE_PART: f64 = 0.9;
const IDLE_MEAN_NS: f64 = 50e6;

/// The reason why a stack waits: the system call and the cause, or the kernel function outside of a system call.
pub fn wait_of(stack: &[Frame]) -> String {
    let call = |frame: &'_ Frame| {
        let call = frame.name.split_once("_sys_").map(|(_, call)| call);
        call.or_else(|| frame.name.strip_prefix("ksys_")).map(str::to_owned)
    };
    let mut kernel = stack.iter().filter(|frame| frame.mode == Mode::Kernel);
    wait_in(kernel.find_map(call).as_deref(), stack)
}

/// The same of a thread whose system call is known.
pub fn wait_in(call: Option<&str>, stack: &[Frame]) -> String {
    let kernel = || stack.iter().filter(|frame| frame.mode == Mode::Kernel);
    let is_of = |part: &str| kernel().any(|frame| frame.name.contains(part));
    let cause = CAUSES.iter().find(|(part, _)| is_of(part)).map(|(_, cause)| *cause);
    let other = || kernel().rev().find(|frame| !is_way_to_wait(frame)).map(|frame| &*frame.name);
    let wait = match (call, cause) {
        (Some(call), Some(cause)) => format!("{call}: {cause}"),
        (Some(call), None) => call.to_owned(),
        (None, Some(cause)) => cause.to_owned(),
        (None, None) => other().unwrap_or("[unknown]").to_owned(),
    };
    let asks = |frame: &Frame| NAME_SERVICE.iter().any(|part| frame.name.contains(part));
    let is_name = stack.iter().any(|frame| frame.mode == Mode::User && asks(frame));
    if is_name {
        return format!("DNS: {wait}");
    }
    match turn_of(stack) {
        Some(turn) => format!("{wait}: {turn}"),
        None => wait,
    }
}

/// What a thread waits for, as the functions of its program tell it.
fn turn_of(stack: &[Frame]) -> Option<&'static str> {
    let is_in = |begin: &str| {
        stack.iter().any(|frame| frame.mode == Mode::User && frame.name.starts_with(begin))
    };
    TURNS.iter().find(|(begin, _)| is_in(begin)).map(|(_, turn)| *turn)
}

/// Whether a stack takes a lock of the program.
pub fn takes_lock(stack: &[Frame]) -> bool {
    let takes = |frame: &Frame| LOCKS.iter().any(|part| frame.name.contains(part));
    stack.iter().any(|frame| frame.mode == Mode::User && takes(frame))
}

/// Whether a thread only waits for work at this place, of all its time in nanoseconds.
pub fn is_idle(met: &Met, all_ns: f64) -> bool {
    let Waits { count, time_ns } = met.waits;
    let mean_ns = time_ns as f64 / count.max(1) as f64;
    FOR_WORK.contains(&&*met.kind)
        && !takes_lock(&met.frames)
        && mean_ns >= IDLE_MEAN_NS.min(all_ns * IDLE_PART)
        && time_ns as f64 >= all_ns * IDLE_PART
}

/// Begins of names of functions in which the scheduler of a language waits, and how its own tasks are looked at.
const SCHEDULERS: [(&str, &str); 3] = [
    (
        "runtime.notesleep",
        "goroutines that wait are no threads: /debug/pprof/goroutine?debug=2 lists them, \
         runtime.SetMutexProfileFraction and SetBlockProfileRate show their locks",
    ),
    (
        "runtime.findRunnable",
        "goroutines that wait are no threads: /debug/pprof/goroutine?debug=2 lists them, \
         runtime.SetMutexProfileFraction and SetBlockProfileRate show their locks",
    ),
    (
        "tokio::runtime::",
        "tasks of tokio that wait are no threads: tokio-console and its dumps of tasks show them",
    ),
];

/// The view that shows the waits of a language that runs its own tasks, if these are stacks of one.
pub fn waits_of_tasks(waits: &[Met]) -> Option<String> {
    let has = |begin: &str| {
        let is_it = |frame: &Frame| frame.name.starts_with(begin);
        waits.iter().any(|met| met.frames.iter().any(is_it))
    };
    SCHEDULERS.iter().find(|(begin, _)| has(begin)).map(|(_, how)| (*how).to_owned())
}

/// The waits of idle threads in words: `7 threads in futex (worker)`, at most so many places.
pub fn idle_in_words(idle: Vec<Met>, most: usize) -> Option<String> {
    let threads = idle.len();
    // Each thread is one of its place.
    let one = |met: Met| Met { waits: Waits { count: 1, ..met.waits }, ..met };
    let rows = wait_rows(idle.into_iter().map(one));
    let told = |row: &crate::locks::WaitRow| {
        format!("{} in {} ({})", row.waits.count, row.kind, row.place)
    };
    let list: Vec<String> = rows.iter().take(most).map(told).collect();
    let more = rows.len().saturating_sub(most);
    let more = if more > 0 { format!(", and at {more} more places") } else { String::new() };
    let name = if threads == 1 { "thread" } else { "threads" };
    (threads > 0).then(|| format!("set aside as idle: {threads} {name}: {}{more}", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::stack;

    #[test]
    fn a_wait_has_its_call_and_its_cause() {
        for (text, wanted) in [
            (
                "main;ObjectMonitor::EnterI(JavaThread*);os::park();__x64_sys_futex_[k];futex_do_wait_[k]",
                "futex: monitor of Java (synchronized)",
            ),
            (
                "main;ProcSleep;WaitEventSetWait;epoll_wait;__x64_sys_epoll_wait_[k];do_epoll_wait_[k]",
                "epoll_wait: lock of a row or table",
            ),
            (
                "main;epoll_wait;__x64_sys_epoll_wait_[k];do_epoll_wait_[k];schedule_[k]",
                "epoll_wait",
            ),
            ("main;asm_exc_page_fault_[k];folio_wait_bit_[k];io_schedule_[k]", "disk"),
            ("main;write;ksys_write_[k];anon_pipe_write_[k];schedule_[k]", "write: full pipe"),
            ("main;getaddrinfo;poll;__x64_sys_poll_[k];schedule_[k]", "DNS: poll"),
            ("main;x_[k];get_signal_[k];do_signal_stop_[k];schedule_[k]", "stopped by a signal"),
            ("main;x_[k];kernel_thing_[k];schedule_[k]", "kernel_thing"),
            ("main", "[unknown]"),
        ] {
            assert_eq!(wait_of(&stack(text)), wanted, "{text}");
        }
    }

    #[test]
    fn tasks_of_a_language_are_no_threads() {
        let met = |text: &str| {
            let frames = stack(text);
            let (kind, own) = ("futex".to_owned(), frames.clone());
            Met { kind, own, frames, tries: 0, waits: Waits { count: 1, time_ns: 1 } }
        };
        assert_eq!(waits_of_tasks(&[met("main;worker;pthread_cond_wait")]), None);
        let told = waits_of_tasks(&[met("main;worker"), met("runtime.mcall;runtime.notesleep")]);
        assert!(told.is_some_and(|told| told.starts_with("goroutines")));
    }

    #[test]
    fn pools_are_idle_and_waits_for_locks_are_not() {
        let met = |kind: &str, text: &str, count, time_ns| {
            let frames = stack(text);
            Met {
                kind: kind.to_owned(),
                own: frames.clone(),
                frames,
                tries: 0,
                waits: Waits { count, time_ns },
            }
        };
        let all_ns = 1e9;
        let pool = met("futex", "main;worker;pthread_cond_wait", 2, 990_000_000);
        let taker = met("futex", "main;sell;pthread_mutex_lock", 1, 1_000_000_000);
        let busy = met("epoll_wait", "main;turn", 9_000, 950_000_000);
        let disk = met("fsync: disk", "main;log", 1, 1_000_000_000);
        let idle = [&pool, &taker, &busy, &disk].map(|met| is_idle(met, all_ns));
        assert_eq!(idle, [true, false, false, false]);
        let told = idle_in_words(vec![pool.clone(), pool, met("accept4", "main;listen", 1, 1)], 1);
        let words = "set aside as idle: 3 threads: 2 in futex (worker), and at 1 more places";
        assert_eq!(told.as_deref(), Some(words));
        assert_eq!(idle_in_words(Vec::new(), 1), None);
    }
}
