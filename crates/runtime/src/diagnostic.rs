//! The server's own messages on standard error: problems that no answer can report, and executed
//! orders.
//!
//! Owns the minimum level, one per process because there is one standard error. For rare messages,
//! and for the log of pages: the sender limits how often, so that it cannot flood the log.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::outlet;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Something does not work.
    Error,
    /// Something works worse than it could.
    Warn,
    /// Reloads, drains and reopened logs: orders that were carried out.
    Info,
    /// Signals and what was found at the start: for whoever looks for a fault of the server.
    Debug,
}

impl Level {
    /// The word it is written and configured with.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

impl Default for Level {
    /// What is written unless something else is configured.
    fn default() -> Self {
        Self::Info
    }
}

/// Lines that matter less are not written. Each thread may meet a change a little later than another.
static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// From now on lines below this level are not written.
pub fn set_least(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// Whether lines that matter so much are written.
pub fn is_written(level: Level) -> bool {
    level as u8 <= LEAST.load(Ordering::Relaxed)
}

/// Writes one line that begins with its level, unless it matters too little. What is not written is not formatted.
pub fn write(level: Level, line: fmt::Arguments<'_>) {
    if is_written(level) {
        outlet::write(format!("velodrome: {}: {line}\n", level.as_str()));
    }
}
