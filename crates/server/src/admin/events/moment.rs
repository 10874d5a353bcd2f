//! When something happened.
//!
//! Owns the two clocks of an event: intervals are measured by one, and the other is shown. Reads neither.

/// When something happened. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Of the monotonic clock.
    pub(crate) now_ms: u64,
    /// Since 1970.
    pub(crate) unix_ms: u64,
}
