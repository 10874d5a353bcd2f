//! Owns the only place where the clock is read. Does not decide how long a wait is.

use std::time::{Duration, Instant};

/// The end of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

/// The time now.
#[expect(clippy::disallowed_methods, reason = "a blocking client has no turn that reads the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Deadline {
    /// A deadline this long from now.
    pub(crate) fn after(wait: Duration) -> Self {
        Self(now() + wait)
    }

    /// The remaining time, or `None` if the deadline is over. Never zero, which sockets refuse as a timeout.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0.checked_duration_since(now()).filter(|left| !left.is_zero())
    }
}
