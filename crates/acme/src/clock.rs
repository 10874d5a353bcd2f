//! The clock of the control thread.
//!
//! The only place of this crate that reads one: the time of day for the schedule, and spans for deadlines.
#![expect(
    clippy::disallowed_methods,
    reason = "the control thread is not a scheduler and has no turn whose time it could take"
)]

use std::time::{Duration, Instant, SystemTime};

use crate::moment::UtcSecond;

/// The time of day.
pub(crate) fn now() -> UtcSecond {
    UtcSecond::from(SystemTime::now())
}

/// A moment until which something may last, whatever happens to the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    pub(crate) fn after(span: Duration) -> Self {
        Self(Instant::now() + span)
    }

    /// The time that is left; none if it has passed.
    pub(crate) fn left(self) -> Option<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}
