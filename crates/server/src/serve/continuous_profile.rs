//! The continuous profile: whether the kernel allows it, and when its samples begin.
//!
//! Owns the order: it is tried before the start, and begins when all threads run and the server still has the rights with
//! which it was started. Without it the server works as with it.

use std::time::Duration;

use config::Config;
use profile::{Sampling, refusal};
use runtime::diagnostic::{self, Level};

use crate::limits::PROFILE_RING_HERTZ;

/// Why a server with this configuration would have no continuous profile although it is configured.
pub fn without_profile(config: &Config) -> Option<String> {
    if config.profile_ring.is_zero() {
        return None;
    }
    let tried = Sampling::begin_small(std::process::id(), PROFILE_RING_HERTZ);
    tried.err().map(|error| format!("no continuous profile: {}", refusal(&error)))
}

/// How far back it is to reach. If the kernel refuses, that is said here, once.
pub(super) fn span(config: &Config) -> Option<Duration> {
    if let Some(why) = without_profile(config) {
        diagnostic::write(Level::Warn, format_args!("{why}"));
        return None;
    }
    Some(config.profile_ring).filter(|span| !span.is_zero())
}

/// Begins to sample all threads that run now.
pub(super) fn begin(span: Duration) -> Option<(Sampling, Duration)> {
    match Sampling::begin_small(std::process::id(), PROFILE_RING_HERTZ) {
        Ok(sampling) => Some((sampling, span)),
        Err(error) => {
            let why = refusal(&error);
            diagnostic::write(Level::Warn, format_args!("no continuous profile: {why}"));
            None
        }
    }
}
