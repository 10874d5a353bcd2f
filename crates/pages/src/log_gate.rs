//! Rate limits of the log lines of pages: lines and bytes per page, and for all pages of a
//! scheduler.
//!
//! Owns the rates, and the count of suppressed lines. Never reads a clock: the time is that of the
//! turn.

use std::cell::{Cell, RefCell};

use ahash::{HashMap, RandomState};
use runtime::diagnostic::{self, Level};

use crate::limits::{
    LOG_ALL_BYTES_PER_SECOND, LOG_ALL_LINES_PER_SECOND, LOG_BURST_NS, LOG_PAGE_BYTES_PER_SECOND,
    LOG_PAGE_LINES_PER_SECOND, LOG_TOLD_AGAIN_NS,
};

const SECOND_NS: u64 = 1_000_000_000;

/// A rate of lines and bytes, and what it has recently admitted.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// The time at which the rate has caught up with everything admitted.
    paid_at_ns: u64,
}

impl Bucket {
    /// Admits a line that costs this many nanoseconds of the rate; `false` if there is no room.
    fn take(&mut self, cost_ns: u64, now_ns: u64) -> bool {
        let paid_at_ns = self.paid_at_ns.max(now_ns).saturating_add(cost_ns);
        let has_room = paid_at_ns - now_ns <= LOG_BURST_NS;
        if has_room {
            self.paid_at_ns = paid_at_ns;
        }
        has_room
    }
}

fn cost_ns(size: usize, lines_per_second: u64, bytes_per_second: u64) -> u64 {
    let by_size = (size as u64).saturating_mul(SECOND_NS) / bytes_per_second;
    by_size.max(SECOND_NS / lines_per_second)
}

/// A writer of lines. Each has its own rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineWriter<'a> {
    /// Requests for a page: its number in the set with the other number.
    Requests(u16, usize),
    /// The processes of a page, by its file.
    Processes(&'a str),
    /// The server, about a page that fails, by its file.
    Failures(&'a str),
}

/// A writer of lines, and the gate that admits them.
#[derive(Clone, Copy, Debug)]
pub struct GatedWriter<'a> {
    gate: &'a LogGate,
    writer: LineWriter<'a>,
}

impl GatedWriter<'_> {
    /// See [`LogGate::admits`].
    pub(super) fn admits(self, level: Level, name: &str, size: usize) -> bool {
        self.gate.admits(level, self.writer, name, size)
    }
}

/// The lines that one writer has written.
#[derive(Debug, Default)]
struct Account {
    bucket: Bucket,
    left_out: u64,
    /// The writer's name in the log.
    name: Box<str>,
}

/// The rate limit for all log lines of a scheduler's pages.
#[derive(Debug, Default)]
pub struct LogGate {
    now_ns: Cell<u64>,
    all: Cell<Bucket>,
    /// By the hash of the writer; at most three for each page.
    accounts: RefCell<HashMap<u64, Account>>,
    hashing: RandomState,
    left_out: Cell<u64>,
    told_at_ns: Cell<u64>,
}

impl LogGate {
    /// For the lines of this writer.
    pub fn of<'a>(&'a self, writer: LineWriter<'a>) -> GatedWriter<'a> {
        GatedWriter { gate: self, writer }
    }

    /// Sets the time of the turn.
    pub(super) fn set_now(&self, now_ns: u64) {
        self.now_ns.set(now_ns);
    }

    /// Whether a line with this many bytes is written; if not, it is counted. `name` is the writer's name in the log.
    pub fn admits(&self, level: Level, writer: LineWriter<'_>, name: &str, size: usize) -> bool {
        if !diagnostic::is_written(level) {
            return false;
        }
        let now_ns = self.now_ns.get();
        let mut accounts = self.accounts.borrow_mut();
        let account = accounts.entry(self.hashing.hash_one(writer)).or_default();
        let of_page = cost_ns(size, LOG_PAGE_LINES_PER_SECOND, LOG_PAGE_BYTES_PER_SECOND);
        let of_all = cost_ns(size, LOG_ALL_LINES_PER_SECOND, LOG_ALL_BYTES_PER_SECOND);
        let mut all = self.all.get();
        let is_admitted = account.bucket.take(of_page, now_ns) && all.take(of_all, now_ns);
        self.all.set(all);
        if !is_admitted {
            if account.left_out == 0 {
                account.name = name.into();
            }
            account.left_out += 1;
            self.left_out.set(self.left_out.get() + 1);
        }
        is_admitted
    }

    /// Logs the number of lines left out, from time to time. Returns whether there is more to report later.
    pub(super) fn tell(&self, now_ns: u64) -> bool {
        if self.left_out.get() == 0 {
            return false;
        }
        if now_ns < self.told_at_ns.get().saturating_add(LOG_TOLD_AGAIN_NS) {
            return true;
        }
        self.told_at_ns.set(now_ns);
        self.left_out.set(0);
        let mut accounts = self.accounts.borrow_mut();
        for account in accounts.values_mut().filter(|account| account.left_out > 0) {
            let (count, name) = (std::mem::take(&mut account.left_out), &account.name);
            let line = format_args!(
                "{name}: {count} lines more of its log were left out: it writes too many"
            );
            diagnostic::write(Level::Warn, line);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(gate: &LogGate, page: usize, size: usize, tries: u64) -> u64 {
        let admits = |_: &u64| gate.admits(Level::Error, LineWriter::Requests(0, page), "/", size);
        (0..tries).filter(admits).count() as u64
    }

    #[test]
    fn a_page_has_a_burst_and_then_its_rate() {
        let gate = LogGate::default();
        let burst = LOG_BURST_NS / SECOND_NS * LOG_PAGE_LINES_PER_SECOND;
        assert_eq!(written(&gate, 1, 10, 10 * burst), burst);
        assert_eq!(written(&gate, 2, 10, 5), 5, "another page has its own");
        gate.set_now(SECOND_NS);
        assert_eq!(written(&gate, 1, 10, burst), LOG_PAGE_LINES_PER_SECOND);
        assert_eq!(gate.left_out.get(), 9 * burst + burst - LOG_PAGE_LINES_PER_SECOND);
        gate.set_now(LOG_TOLD_AGAIN_NS);
        assert!(!gate.tell(LOG_TOLD_AGAIN_NS));
        assert_eq!(gate.left_out.get(), 0);
    }

    #[test]
    fn long_lines_count_as_more_and_all_pages_have_a_rate_together() {
        let gate = LogGate::default();
        let bytes = LOG_BURST_NS / SECOND_NS * LOG_PAGE_BYTES_PER_SECOND;
        assert_eq!(written(&gate, 1, 64 * 1024, 1_000), bytes / (64 * 1024));
        let all = LOG_BURST_NS / SECOND_NS * LOG_ALL_LINES_PER_SECOND;
        let sum: u64 = (0..100).map(|page| written(&gate, 10 + page, 10, 1_000)).sum();
        assert!(sum < all, "{sum} of all pages");
        assert!(sum > all / 2, "{sum} of all pages");
    }
}
