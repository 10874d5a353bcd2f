//! Why a process ended.
//!
//! Owns the reasons and their names in statistics. Never ends one.

/// Why a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The service finished it.
    Finished,
    /// The peer ended the connection.
    PeerEnded,
    /// The connection failed.
    Failed,
    /// The service aborted it.
    Aborted,
    /// The peer did not take our output: no progress, or slower than the floor.
    SlowReader,
    /// More output was queued than an outbox holds.
    OutboxFull,
    /// More input was left unread than an inbox holds.
    InboxFull,
    /// It was the longest idle and room was needed.
    Evicted,
    /// The scheduler stopped before it was done.
    Stopped,
    /// Its handler panicked.
    Panicked,
}

impl CloseReason {
    /// How many reasons there are.
    pub const COUNT: usize = 10;

    /// The reason as statistics name it.
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
