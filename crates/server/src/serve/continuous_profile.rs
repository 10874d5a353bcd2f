//! The continuous profile: whether the kernel allows it, and when its samples begin.
//!
//! Owns the order: it is tried before the start, and begins when all threads run and the server still has the rights
//! with which it was started. Without it the server works as with it.

use std::io;
use std::time::Duration;

use config::Config;
use profile::{KernelNames, Sampling, refusal};
use runtime::diagnostic::{self, Level};

use crate::limits::PROFILE_RING_HERTZ;
use crate::profile_helper::Continuous;

/// Why a server with this configuration would have no continuous profile although it is configured.
pub fn without_profile(config: &Config) -> Option<String> {
    if config.profile_ring.is_zero() {
        return None;
    }
    let tried = Sampling::begin_small(std::process::id(), PROFILE_RING_HERTZ);
    tried.err().map(|error| format!("no continuous profile: {}", refusal(&error)))
}

/// A continuous profile that the kernel allows.
pub(super) struct Wanted {
    /// How far back it reaches.
    span: Duration,
    /// The names of the kernel's functions, from before the sandbox and the change to the user.
    kernel: Option<KernelNames>,
}

/// The continuous profile that is configured. If the kernel refuses it, that is said here, once.
pub(super) fn wanted(config: &Config) -> Option<Wanted> {
    if let Some(why) = without_profile(config) {
        diagnostic::write(Level::Warn, format_args!("{why}"));
        return None;
    }
    let span = Some(config.profile_ring).filter(|span| !span.is_zero())?;
    Some(Wanted { span, kernel: KernelNames::open().ok() })
}

/// Begins it, when all threads run.
pub(super) fn begin(Wanted { span, kernel }: Wanted) -> Option<Continuous> {
    let begun = Continuous::begin(span, kernel);
    let tell = |error: &io::Error| {
        let why = refusal(error);
        diagnostic::write(Level::Warn, format_args!("no continuous profile: {why}"));
    };
    begun.inspect_err(tell).ok()
}
