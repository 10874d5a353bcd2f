//! Waiting for a condition, never for a time to pass. Every wait has an end, and says what it waited for.

use std::time::{Duration, Instant};

/// How long anything may take that is not itself about time: generous, as tests share two cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Most that counts from one look to the next: a host that was paused meanwhile, or at work for others, has let nobody do
/// what is waited for.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Looks until there is something to see.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// Looks until there is something to see, no longer than that.
pub(crate) fn within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let (mut waited, mut before) = (Duration::ZERO, Instant::now());
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(waited < limit, "waited {limit:?} in vain for: {what}");
        pace(LOOK_AGAIN);
        let now = Instant::now();
        waited += (now - before).min(LOOK_MAX);
        before = now;
    }
}

/// Lets time pass: between two looks, or between two bytes of a client that is slow on purpose. Never to wait for
/// something.
pub(crate) fn pace(time: Duration) {
    // Paced: the one sleep of these tests.
    std::thread::sleep(time);
}
