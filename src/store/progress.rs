//! The progress line of an import.
//!
//! Owns the line. Prints nothing if standard error is not a terminal.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;
use std::time::Instant;

/// Rows between two checks of the clock.
const ROWS_PER_LOOK: u64 = 10_000;

/// Width of the bar in characters.
const WIDTH: usize = 24;

/// The progress of an import.
pub(super) struct Progress {
    is_shown: bool,
    started: Instant,
    rows: u64,
    /// Bytes read so far.
    bytes: Rc<Cell<u64>>,
    /// Bytes in total.
    size: u64,
}

impl Progress {
    #[expect(
        clippy::disallowed_methods,
        reason = "a command's progress is measured by its own clock"
    )]
    pub(super) fn new(size: u64) -> Self {
        let (is_shown, started) = (io::stderr().is_terminal(), Instant::now());
        Self { is_shown, started, rows: 0, bytes: Rc::default(), size }
    }

    /// The counter that the reader of the file increases.
    pub(super) fn bytes(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.bytes)
    }

    /// Counts a row.
    pub(super) fn note(&mut self) {
        self.rows += 1;
        if self.is_shown && self.rows.is_multiple_of(ROWS_PER_LOOK) {
            let seconds = self.started.elapsed().as_secs_f64();
            let share = self.bytes.get() as f64 / self.size.max(1) as f64;
            let line = line(self.rows, seconds, share);
            let _nobody_looks = write!(io::stderr(), "\r{line}");
        }
    }

    /// Ends the line, so that later output starts on a new one.
    pub(super) fn end(&self) {
        if self.is_shown && self.rows >= ROWS_PER_LOOK {
            let _nobody_looks = writeln!(io::stderr());
        }
    }
}

/// `[######            ]  25 %, 250000 rows, 125000 rows/s, 6 s left`.
fn line(rows: u64, seconds: f64, share: f64) -> String {
    let (rate, share) = (rows as f64 / seconds.max(0.001), share.clamp(0.001, 1.0));
    let full = (share * WIDTH as f64) as usize;
    let bar = format!("{}{}", "#".repeat(full), " ".repeat(WIDTH - full));
    let left = seconds / share - seconds;
    format!("[{bar}] {:3.0} %, {rows} rows, {rate:.0} rows/s, {left:.0} s left  ", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_how_fast_and_how_long() {
        assert_eq!(
            line(250_000, 2.0, 0.25),
            "[######                  ]  25 %, 250000 rows, 125000 rows/s, 6 s left  "
        );
        // The file may grow while it is read.
        assert_eq!(
            line(10, 1.0, 1.5),
            "[########################] 100 %, 10 rows, 10 rows/s, 0 s left  "
        );
    }
}
