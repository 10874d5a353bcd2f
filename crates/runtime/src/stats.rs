//! What one scheduler counted, as plain integers nobody shares.
//!
//! Owns the numbers of the runtime; a service keeps its own. Counts are exact. Shares of time (`sampled`) come
//! from one turn in [`TURNS_PER_SAMPLE`](crate::limits::TURNS_PER_SAMPLE) that is timed in full.

use crate::close_reason::CloseReason;
use crate::mailbox::MailCounters;

/// Most kinds of process a service may name.
pub const KINDS_MAX: usize = 8;

/// Where the time of the sampled turns went, in ticks of [`sys::clock::tick_counter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Turns that were timed.
    pub turns: u64,
    /// In accept calls.
    pub accept_ticks: u64,
    /// In connect calls.
    pub connect_ticks: u64,
    /// In receive calls.
    pub receive_ticks: u64,
    /// In send calls.
    pub send_ticks: u64,
    /// In the pollset, without the time asleep.
    pub poll_ticks: u64,
    /// In handlers, by kind of process.
    pub handler_ticks: [u64; KINDS_MAX],
}

/// Everything one scheduler counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Turns.
    pub turns: u64,
    /// Times it blocked.
    pub sleeps: u64,
    /// Nanoseconds it was blocked.
    pub asleep_ns: u64,
    /// Nanoseconds it polled without blocking for want of work.
    pub spun_ns: u64,
    /// Spins that an event ended.
    pub spin_hits: u64,
    /// Spins that ended in a sleep.
    pub spin_misses: u64,
    /// Times another thread wanted the core while it was spinning, which switches spinning off for a while.
    pub spin_pauses: u64,
    /// Events taken from the pollset.
    pub events: u64,
    /// Most events in one turn.
    pub events_max: u64,
    /// Connections accepted.
    pub accepts: u64,
    /// Connections that died before they were accepted.
    pub accepts_aborted: u64,
    /// Connections closed at once for want of room or by the service.
    pub accepts_refused: u64,
    /// Connections that were told that there is no memory for them.
    pub accepts_overloaded: u64,
    /// Times accepting paused for want of descriptors.
    pub accept_pauses: u64,
    /// Connections begun by the service.
    pub connects: u64,
    /// Connections that could not be begun, or that the service gave up at once.
    pub connects_refused: u64,
    /// Connections that were begun and came to nothing before they stood.
    pub connects_failed: u64,
    /// Receive calls that gave bytes.
    pub receives: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Writes that took bytes.
    pub sends: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Writes that left something over.
    pub sends_blocked: u64,
    /// Waits for a file that was not in memory.
    pub files_cold: u64,
    /// Processes by kind that live.
    pub processes: [u64; KINDS_MAX],
    /// Most processes at one time.
    pub processes_max: u64,
    /// Processes ended, by reason.
    pub closed: [u64; CloseReason::COUNT],
    /// Processes ended by a panic of their handler.
    pub panics: u64,
    /// Bytes in inboxes and outboxes now.
    pub buffered_bytes: u64,
    /// Most bytes in inboxes and outboxes at one time.
    pub buffered_bytes_max: u64,
    /// Deadlines that were reached.
    pub deadlines: u64,
    /// Most nanoseconds by which a deadline was noticed late, beyond its tick.
    pub timer_lag_max_ns: u64,
    /// Longest single run of a process, in ticks of [`sys::clock::tick_counter`].
    pub longest_run_ticks: u64,
    /// The turn it was in, in nanoseconds.
    pub longest_turn_ns: u64,
    /// Kind of the process that caused it, as an index into the service's kinds.
    pub longest_turn_kind: Option<usize>,
    /// Mail.
    pub mail: MailCounters,
    /// Where time goes.
    pub sampled: Sampled,
}

impl Stats {
    /// Counts the end of a process.
    pub(crate) fn count_close(&mut self, kind: usize, reason: CloseReason) {
        self.processes[kind] -= 1;
        self.closed[reason as usize] += 1;
    }

    /// Counts the start of a process.
    pub(crate) fn count_open(&mut self, kind: usize, total: usize) {
        self.processes[kind] += 1;
        self.processes_max = self.processes_max.max(total as u64);
    }

    /// A process became another kind.
    pub(crate) fn change_kind(&mut self, from: usize, to: usize) {
        self.processes[from] -= 1;
        self.processes[to] += 1;
    }

    /// Counts bytes that an inbox or outbox came to hold, or let go.
    pub(crate) fn count_buffered(&mut self, before: usize, after: usize) {
        self.buffered_bytes = self.buffered_bytes + after as u64 - before as u64;
        self.buffered_bytes_max = self.buffered_bytes_max.max(self.buffered_bytes);
    }
}
