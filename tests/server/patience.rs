//! Waiting for a condition, never for a time to pass. Every wait has an end, and says what it waited for.

use std::time::{Duration, Instant};

/// How long anything may take that is not itself about time: generous, as tests share two cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Looks until there is something to see.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// Looks until there is something to see, no longer than that.
pub(crate) fn within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(began.elapsed() < limit, "waited {limit:?} in vain for: {what}");
        pace(LOOK_AGAIN);
    }
}

/// Lets time pass: between two looks, or between two bytes of a client that is slow on purpose. Never to wait for
/// something.
pub(crate) fn pace(time: Duration) {
    // Paced: the one sleep of these tests.
    std::thread::sleep(time);
}
