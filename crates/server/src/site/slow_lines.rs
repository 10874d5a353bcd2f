//! How many lines of slow requests are written in a second.
//!
//! Owns the count. Never writes one.

use crate::limits::SLOW_LINES_PER_SECOND;

/// Lines of this second.
#[derive(Debug, Default)]
pub(super) struct SlowLines {
    second: u64,
    written: u64,
    left_out: u64,
}

impl SlowLines {
    /// Whether another line may be written at this time; if so, how many were left out before it.
    pub(super) fn admit(&mut self, now_ns: u64) -> Option<u64> {
        let second = now_ns / 1_000_000_000;
        if second != self.second {
            (self.second, self.written) = (second, 0);
        }
        if self.written == SLOW_LINES_PER_SECOND {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_second_are_bounded_and_those_left_out_are_told() {
        let mut lines = SlowLines::default();
        let second = 1_000_000_000;
        for _ in 0..SLOW_LINES_PER_SECOND {
            assert_eq!(lines.admit(second), Some(0));
        }
        assert_eq!((lines.admit(second), lines.admit(second + 1)), (None, None));
        assert_eq!(lines.admit(2 * second), Some(2));
        assert_eq!(lines.admit(2 * second), Some(0));
    }
}
