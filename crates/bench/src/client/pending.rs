//! A request in flight: when it was due, when it was sent, and which one it is.

/// A request in flight. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
    /// Index into the plan's targets.
    pub(crate) target: u32,
    /// The number of its key, for a store.
    pub(crate) key: u64,
}
