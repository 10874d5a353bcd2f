//! Waits for a condition, never for a time.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long anything may take that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Checks until there is a result.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let (_open, never) = channel::<()>();
    let begin = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain for: {what}");
        let passed = never.recv_timeout(Duration::from_millis(5));
        assert_eq!(passed, Err(RecvTimeoutError::Timeout));
    }
}
