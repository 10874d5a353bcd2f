//! The report of a panic, with its backtrace.
//!
//! Owns the process's panic hook. The scheduler that caught the panic ends the process and
//! continues.

use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::diagnostic::{self, Level};

/// Panics so far, of all threads.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// The number of panics so far, of all threads.
pub fn count() -> u64 {
    PANICS.load(Relaxed)
}

/// Counts every panic, and writes it to standard error with its location and backtrace, whatever `RUST_BACKTRACE` says.
pub fn report_with_backtrace() {
    std::panic::set_hook(Box::new(|report| {
        PANICS.fetch_add(1, Relaxed);
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let backtrace = Backtrace::force_capture();
        let more = format!("{report}\n{backtrace}");
        diagnostic::write_with(Level::Error, format_args!("{name}: "), &more);
    }));
}
