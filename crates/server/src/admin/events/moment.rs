//! When something happened.
//!
//! Owns the two clocks of an event: intervals are measured by one, and the other is shown. Reads neither.

/// When something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Of the monotonic clock.
    pub(super) now_ms: u64,
    /// Since 1970.
    pub(super) unix_ms: u64,
}
