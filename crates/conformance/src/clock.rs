//! Owns the one place where the clock is read. Never decides how long a wait is.

use std::time::{Duration, Instant};

/// A moment until which something is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

/// The time now.
#[expect(clippy::disallowed_methods, reason = "a blocking client has no turn that reads the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Deadline {
    /// A deadline that lies so far in the future.
    pub(crate) fn after(wait: Duration) -> Self {
        Self(now() + wait)
    }

    /// What is left, or `None` when the deadline is over. Never zero, which sockets refuse as a timeout.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0.checked_duration_since(now()).filter(|left| !left.is_zero())
    }
}
