//! Waits for a condition, never for a time. Every wait has a limit, and its panic says what it waited for.

use std::time::{Duration, Instant};

/// How long anything may take that is not about time: long, because tests share two cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Time between the first two checks of a condition, and the most between later ones: checks cost the processor time
/// that the condition needs.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(50);

/// The most that counts from one check to the next: on a host that was paused in the meantime, or busy with others,
/// nothing that is waited for could happen.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Checks until there is a result.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// Checks until there is a result, at most for this time.
pub(crate) fn within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let (mut waited, mut before) = (Duration::ZERO, Instant::now());
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(waited < limit, "waited {limit:?} in vain for: {what}");
        pace((waited / 8).clamp(LOOK_AGAIN, LOOK_AGAIN_MAX));
        let now = Instant::now();
        waited += (now - before).min(LOOK_MAX);
        before = now;
    }
}

/// The end of a wait that is no condition to look at: whoever waits reads what comes.
#[derive(Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn new() -> Self {
        Self(Instant::now() + PATIENCE)
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() > self.0
    }
}

/// Lets time pass: between two checks, or between two bytes of a client that is slow on purpose. Never to wait for
/// a condition.
pub(crate) fn pace(time: Duration) {
    // Paced: the one sleep of these tests.
    std::thread::sleep(time);
}

/// Whether a line of a log is an event of a disk that other programs keep busy.
pub(crate) fn is_of_a_slow_disk(line: &str) -> bool {
    let kinds = [": event slow_commit:", ": event slow_checkpoint:", ": event store_stuck:"];
    kinds.iter().any(|kind| line.contains(kind))
}
