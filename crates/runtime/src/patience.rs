//! How long a scheduler waits for peers, in a form that may change while it runs.
//!
//! Owns the numbers. `scheduler` keeps and applies them.

/// How long a scheduler waits for peers. The meaning of each is that of the field of
/// [`SchedulerSettings`](crate::scheduler::SchedulerSettings) with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of `Settings` have it")]
pub struct PeerPatience {
    pub send_idle_ns: u64,
    pub send_rate: u64,
    pub linger_bytes: u32,
    pub linger_ms: u64,
}
