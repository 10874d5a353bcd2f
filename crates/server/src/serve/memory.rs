//! Gives memory that a load has left back to the kernel.
//!
//! Owns the times. The C library keeps freed memory for the next load, which may never come; and giving it back costs
//! time, in which a scheduler may have to wait for its heap. So it is done once the process has become quiet after
//! work, and rarely while it works. Never frees anything.

use std::time::Duration;

use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
use sys::accounting::{process_usage, resident_bytes};
use sys::clock::monotonic_ns;

use super::post::Post;
use crate::limits::{MEMORY_LOOK, MEMORY_QUIET_PERCENT, MEMORY_REST, MEMORY_WORK};

/// The CPU time that the process has used, and when.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    now_ns: u64,
    cpu_ns: u64,
}

/// The memory of this process.
#[derive(Debug, Default)]
pub(super) struct Memory {
    looked: Used,
    given_back: Used,
}

impl Memory {
    /// Of a process that has just started.
    pub(super) fn begin() -> Self {
        let started = Used { now_ns: monotonic_ns(), cpu_ns: 0 };
        Self { looked: started, given_back: started }
    }

    /// Gives memory back if it is time to, every [`MEMORY_LOOK`] at most.
    pub(super) fn look(&mut self, post: &mut Post) {
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(self.looked.now_ns) < nanoseconds(MEMORY_LOOK) {
            return;
        }
        let usage = process_usage();
        let now = Used { now_ns, cpu_ns: nanoseconds(usage.user + usage.system) };
        let is_due = self.is_due(now);
        self.looked = now;
        if is_due {
            self.given_back = now;
            let before = resident_bytes().unwrap_or(0);
            post.ask_for_memory();
            sys::heap::trim();
            let after = resident_bytes().unwrap_or(0);
            diagnostic::write(
                Level::Debug,
                format_args!("gave memory back: {before} bytes before, {after} so far"),
            );
        }
    }

    fn is_due(&self, now: Used) -> bool {
        let since = |before: Used| {
            let time =
                |now_ns: u64, before_ns| Duration::from_nanos(now_ns.saturating_sub(before_ns));
            (time(now.now_ns, before.now_ns), time(now.cpu_ns, before.cpu_ns))
        };
        let (time, cpu) = since(self.looked);
        let is_quiet = cpu * 100 <= time * MEMORY_QUIET_PERCENT;
        let (rest, work) = since(self.given_back);
        work >= MEMORY_WORK && (is_quiet || rest >= MEMORY_REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_after_work_and_rarely_during_it() {
        let mut memory = Memory::default();
        let mut due = Vec::new();
        // Five seconds each: busy for 90 s, then quiet; the process has used so much CPU.
        let busy_ns = nanoseconds(MEMORY_LOOK) / 2;
        let mut now = Used::default();
        for round in 0..40 {
            now.now_ns += nanoseconds(MEMORY_LOOK);
            now.cpu_ns += if round < 18 { busy_ns } else { 1_000_000 };
            let is_due = memory.is_due(now);
            memory.looked = now;
            if is_due {
                memory.given_back = now;
                due.push(round);
            }
        }
        // After a minute of work, and when it has become quiet. What a quiet process uses is no work for minutes.
        assert_eq!(due, [11, 18]);
    }
}
