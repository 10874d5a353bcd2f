//! The server's own messages on standard error: problems that no answer can report, and executed
//! orders.
//!
//! Owns the minimum level, one per process because there is one standard error. For rare messages,
//! and for the log of pages: the sender limits how often, so that it cannot flood the log.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::outlet;

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Something does not work.
    Error,
    /// Something works worse than it could.
    Warn,
    /// An order was carried out: a reload, a drain, a reopened log.
    Info,
    /// Signals, and what was found at start: for finding a fault in the server.
    Debug,
}

impl Level {
    /// The word for the level in log lines and in the configuration.
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
    /// The default minimum level.
    fn default() -> Self {
        Self::Info
    }
}

/// The minimum level. A thread may see a change slightly later than another.
static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// Sets the minimum level: lines below it are no longer written.
pub fn set_least(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// Whether lines of this level are written.
pub fn is_written(level: Level) -> bool {
    level as u8 <= LEAST.load(Ordering::Relaxed)
}

/// Writes one line, prefixed with its level. A line below the minimum level is not even formatted.
pub fn write(level: Level, line: fmt::Arguments<'_>) {
    if is_written(level) {
        outlet::write(format!("velodrome: {}: {line}\n", level.as_str()));
    }
}
