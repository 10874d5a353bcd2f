//! Signals that interrupt a program: which come, how often, and how long their handlers take.
//!
//! Owns the tracepoint of their delivery and which signal indicates which cause. A handler is recorded as one call of
//! `rt_sigreturn`, which is how each of them ends.

use std::collections::BTreeMap;

use syscalls::Sysno;

/// The tracepoint of a signal that is delivered to a handler; its first field is the signal's number.
pub(crate) const DELIVERY: &str = "signal/signal_deliver";

/// The call with which a handler ends. It never returns, so its end is no event.
pub(crate) const HANDLER_END: u64 = Sysno::rt_sigreturn as u64;

/// Signals a second, and the part of a thread's time in percent, from which they are worth a line.
pub(crate) const STORM_RATE: f64 = 500.0;
pub(crate) const STORM_SHARE: f64 = 2.0;

/// Signals by their numbers, which x86 and Arm share, and what many of them indicate.
const CAUSES: [(i32, &str, &str); 7] = [
    (27, "SIGPROF", TIMER),
    (26, "SIGVTALRM", TIMER),
    (14, "SIGALRM", TIMER),
    (
        11,
        "SIGSEGV",
        "accesses to memory that fail on purpose, as runtimes use them for null pointers and safepoints",
    ),
    (8, "SIGFPE", "divisions that fail, each a signal"),
    (23, "SIGURG", "the scheduler of Go interrupts goroutines that run for long"),
    (
        29,
        "SIGIO",
        "input that is announced by a signal for each event (O_ASYNC): epoll(7) tells of many at once",
    ),
];

const TIMER: &str = "a timer, mostly of a profiler that is left on (setitimer(2), timer_create(2), /proc/PID/timers)";

const SENT: &str = "a timer (/proc/PID/timers), or a program that sends them";

/// Signals that were delivered to handlers.
#[derive(Debug, Default)]
pub(crate) struct Signals(BTreeMap<i32, u64>);

impl Signals {
    /// Adds one, by the first field of its tracepoint, whose lower half is its number.
    pub(crate) fn note(&mut self, field: u64) {
        *self.0.entry(field as u32 as i32).or_default() += 1;
    }

    /// The name of the most frequent one, and its cause.
    pub(crate) fn cause(&self) -> Option<(String, &'static str)> {
        let (number, _) = self.0.iter().max_by_key(|(_, count)| **count)?;
        let known = CAUSES.iter().find(|(known, ..)| known == number);
        let unknown = || (format!("signal {number}"), SENT);
        Some(known.map_or_else(unknown, |(_, name, cause)| ((*name).to_owned(), *cause)))
    }
}
