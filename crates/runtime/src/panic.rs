//! The report of a panic, with its backtrace.
//!
//! Owns the process's panic hook. The scheduler that caught the panic ends the process and
//! continues.

use std::backtrace::Backtrace;

use crate::diagnostic::{self, Level};

/// Writes every panic to standard error with its location and backtrace, whatever `RUST_BACKTRACE` says.
pub fn report_with_backtrace() {
    std::panic::set_hook(Box::new(|report| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let backtrace = Backtrace::force_capture();
        diagnostic::write(Level::Error, format_args!("{name}: {report}\n{backtrace}"));
    }));
}
