//! Why a process ended.
//!
//! Owns the reasons and their names in statistics. Never ends one.

/// Why a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The service finished the process.
    Finished,
    /// The peer ended the connection.
    PeerEnded,
    /// The connection failed.
    Failed,
    /// The service aborted the process.
    Aborted,
    /// The peer did not read our output: no progress at all, or slower than the minimum rate.
    SlowReader,
    /// More output was queued than the outbox may hold.
    OutboxFull,
    /// More input was left unread than the inbox may hold.
    InboxFull,
    /// Room was needed, and this process had been idle longest.
    Evicted,
    /// The scheduler stopped before the process was done.
    Stopped,
    /// Its handler panicked.
    Panicked,
}

impl CloseReason {
    /// The number of reasons.
    pub const COUNT: usize = 10;

    /// The names of the reasons in statistics.
    pub const NAMES: [&'static str; Self::COUNT] = [
        "finished",
        "peer-ended",
        "failed",
        "aborted",
        "slow-reader",
        "outbox-full",
        "inbox-full",
        "evicted",
        "stopped",
        "panicked",
    ];
}
