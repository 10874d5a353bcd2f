//! The counters of one scheduler, as plain unshared integers.
//!
//! Owns the numbers of the runtime; a service keeps its own. Counts are exact. What time is spent on
//! is in [`crate::account`].

use crate::close_reason::CloseReason;
use crate::mailbox::MailCounters;

/// Most kinds of process a service may name.
pub const KINDS_MAX: usize = 12;

metric::counted! {
    /// Everything one scheduler counted since it started.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Stats {
        /// Turns of the scheduler.
        pub turns: u64 = Counter(Count, "turns.count", "turns"),
        /// Times the scheduler was blocked.
        pub sleeps: u64 = Counter(Count, "time.sleeps", "sleeps"),
        /// Time the scheduler was blocked.
        pub asleep_ns: u64 = Counter(Nanoseconds, "time.asleep_ns", "asleep"),
        /// Time the scheduler polled for want of work before it blocked.
        pub spun_ns: u64 = Counter(Nanoseconds, "time.spun_ns", "spun"),
        /// Times that polling was ended by an event.
        pub spin_hits: u64 = Counter(Count, "time.spin_hits", "spin_hits"),
        /// Times that polling ended in a sleep.
        pub spin_misses: u64 = Counter(Count, "time.spin_misses", "spin_misses"),
        /// Times that another thread wanted the CPU while the scheduler polled, which ends polling for a while.
        pub spin_pauses: u64 = Counter(Count, "time.spin_pauses", "spin_pauses"),
        /// Events taken from the kernel.
        pub events: u64 = Counter(Count, "turns.events", "events"),
        /// Most events in one turn.
        pub events_max: u64 = Gauge(Count, "turns.events_max", "events_max"),
        /// Connections accepted.
        pub accepts: u64 = Counter(Count, "network.accepts", "accepts"),
        /// Connections that died before they were accepted.
        pub accepts_aborted: u64 = Counter(Count, "network.accepts_aborted", "accepts_aborted"),
        /// Connections closed at once.
        pub accepts_refused: u64 = Counter(Count, "network.accepts_refused", "accepts_refused"),
        /// Connections told that there is no memory for them.
        pub accepts_overloaded: u64 = Counter(Count, "network.accepts_overloaded", "accepts_overloaded"),
        /// Processes ended because they held most of the memory when it was short.
        pub ended_for_memory: u64 = Counter(Count, "network.ended_for_memory", "ended_for_memory"),
        /// Times accepting paused for want of descriptors or room.
        pub accept_pauses: u64 = Counter(Count, "network.accept_pauses", "accept_pauses"),
        /// Connections to other servers begun.
        pub connects: u64 = Counter(Count, "network.connects", "connects"),
        /// Connections to other servers that could not be begun.
        pub connects_refused: u64 = Counter(Count, "network.connects_refused", "connects_refused"),
        /// Connections to other servers that were begun and came to nothing.
        pub connects_failed: u64 = Counter(Count, "network.connects_failed", "connects_failed"),
        /// Handshakes of transports that were completed.
        pub handshakes: u64 = Counter(Count, "network.handshakes", "handshakes"),
        /// Handshakes of transports that are not over.
        pub handshakes_under_way: u64 = Gauge(Count, "network.handshakes_under_way", "handshakes_under_way"),
        /// Handshakes of transports that failed.
        pub handshakes_failed: u64 = Counter(Count, "network.handshakes_failed", "handshakes_failed"),
        /// Streams begun: processes that another process carries.
        pub streams: u64 = Counter(Count, "network.streams", "streams"),
        /// Streams that were opened and got no process.
        pub streams_refused: u64 = Counter(Count, "network.streams_refused", "streams_refused"),
        /// Receive calls that gave bytes.
        pub receives: u64 = Counter(Count, "network.receives", "receives"),
        /// Bytes received from clients.
        pub received_bytes: u64 = Counter(Bytes, "network.received_bytes", "received"),
        /// Writes to sockets.
        pub sends: u64 = Counter(Count, "network.sends", "sends"),
        /// Bytes sent to clients.
        pub sent_bytes: u64 = Counter(Bytes, "network.sent_bytes", "sent"),
        /// Writes that left something over.
        pub sends_blocked: u64 = Counter(Count, "network.sends_blocked", "sends_blocked"),
        /// Connections of which the kernel may hold much output, because their peers take what they get at once.
        pub fast_peers: u64 = Gauge(Count, "network.fast_peers", "fast_peers"),
        /// Waits for a part of a large file that was not in memory.
        pub files_cold: u64 = Counter(Count, "network.files_cold", "files_cold"),
        /// Processes by kind that live.
        pub processes: [u64; KINDS_MAX] = Elsewhere("by kind"),
        /// Most connections at one time.
        pub processes_max: u64 = Gauge(Count, "network.connections_max", "connections_max"),
        /// Processes ended, by reason.
        pub closed: [u64; CloseReason::COUNT] = Elsewhere("by reason"),
        /// Processes ended by a panic of their handler.
        pub panics: u64 = Counter(Count, "turns.panics", "panics"),
        /// Bytes in inboxes and outboxes, and of messages and bodies that have come in part.
        pub buffered_bytes: u64 = Gauge(Bytes, "network.buffered_bytes", "buffered"),
        /// Most of these bytes at one time.
        pub buffered_bytes_max: u64 = Gauge(Bytes, "network.buffered_bytes_max", "buffered_max"),
        /// Deadlines that were reached.
        pub deadlines: u64 = Counter(Count, "turns.deadlines", "deadlines"),
        /// The longest time by which a deadline was noticed late.
        pub timer_lag_max_ns: u64 = Gauge(Nanoseconds, "turns.timer_lag_max_ns", "timer_lag_max"),
        /// The longest run of one process.
        pub longest_run_ticks: u64 = Gauge(Ticks, "turns.longest_run_us", "longest_run"),
        /// The longest turn since the start.
        pub longest_turn_ns: u64 = Gauge(Nanoseconds, "turns.longest_ns", "longest_turn"),
        /// Kind of the process that caused it, as an index into the service's kinds.
        pub longest_turn_kind: Option<usize> = Elsewhere("beside the longest turn"),
        /// Mail.
        pub mail: MailCounters = Elsewhere("rows of its own"),
    }
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

    /// Counts bytes that a process came to hold, or let go.
    pub(crate) fn count_buffered(&mut self, before: usize, after: usize) {
        self.buffered_bytes = self.buffered_bytes + after as u64 - before as u64;
        self.buffered_bytes_max = self.buffered_bytes_max.max(self.buffered_bytes);
    }
}
