//! How many lines of an upstream the log gets.
//!
//! Owns the count, so that a server that is down does not fill a disk. Never writes.

use crate::limits::PROXY_LOG_LINES;

/// The lines of one second.
#[derive(Debug, Default)]
pub(in crate::site) struct LogGate {
    second: u64,
    lines: u32,
    /// Lines that were left out since the last one.
    left_out: u64,
}

impl LogGate {
    /// Whether one more line is written, and what it says of those that were not.
    pub(in crate::site) fn admit(&mut self, now_ns: u64) -> Option<String> {
        let second = now_ns / 1_000_000_000;
        if second != self.second {
            (self.second, self.lines) = (second, 0);
        }
        if self.lines >= PROXY_LOG_LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(match std::mem::take(&mut self.left_out) {
            0 => String::new(),
            left_out => format!(" (and {left_out} lines before were left out)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_a_few_lines_and_the_next_one_says_how_many_were_left_out() {
        let mut gate = LogGate::default();
        let written = (0..PROXY_LOG_LINES + 5).filter(|_| gate.admit(7).is_some()).count();
        assert_eq!(written, PROXY_LOG_LINES as usize);
        let next = gate.admit(1_000_000_007).unwrap();
        assert_eq!(next, " (and 5 lines before were left out)");
        assert_eq!(gate.admit(1_000_000_008).unwrap(), "");
    }
}
