//! The time, on both clocks that a cache needs.

/// The time of a turn. Dates of fields are compared with the first clock; what has passed since is measured with the
/// second, which never jumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Seconds since 1970.
    pub unix_s: u64,
    /// Milliseconds on the monotonic clock.
    pub ms: u64,
}
