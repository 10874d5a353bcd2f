//! A request in flight: when it was due, when it was sent, and which one it is.

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) due_ns: u64,
    pub(super) sent_ns: u64,
    /// Index into the plan's targets.
    pub(super) target: u32,
    /// The number of its key, for a store.
    pub(super) key: u64,
}
