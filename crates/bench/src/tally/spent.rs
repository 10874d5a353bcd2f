//! The time of connections from which no answer came.

/// The time that connections spent without waiting for an answer that came, in nanoseconds since
/// [`Tally::begin`](super::Tally::begin). With the service times it is all the time of all connections that have
/// something to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpentTime {
    /// Being opened, with the handshake.
    pub connect_ns: u64,
    /// Connects that failed, and the pauses after them.
    pub unopened_ns: u64,
    /// Requests that failed, from the send to the failure.
    pub failed_ns: u64,
    /// Requests that had no answer at the end, from the send to the end.
    pub left_ns: u64,
}

impl SpentTime {
    /// All of it.
    pub fn sum_ns(&self) -> u64 {
        self.connect_ns + self.unopened_ns + self.failed_ns + self.left_ns
    }

    pub(super) fn merge(&mut self, other: &SpentTime) {
        self.connect_ns += other.connect_ns;
        self.unopened_ns += other.unopened_ns;
        self.failed_ns += other.failed_ns;
        self.left_ns += other.left_ns;
    }
}
