//! Flow control (RFC 9113, 5.2): how much either side may still send.
//!
//! Owns both kinds of window, of a stream or of the whole connection, for either side. Never sends a frame.

use super::WINDOW_BYTES_MAX;

/// The largest window.
const WINDOW_MAX: i64 = WINDOW_BYTES_MAX as i64;

/// A window became larger than it may be, or more came than it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowBroken;

/// Bytes that the peer takes. Negative if it has made the window smaller meanwhile (RFC 9113, 6.9.2).
#[derive(Clone, Copy, Debug)]
pub struct OutputWindow(i64);

impl OutputWindow {
    /// A window of so many bytes.
    pub fn of(bytes: u32) -> Self {
        Self(bytes.into())
    }

    /// Bytes that may be sent now.
    #[must_use]
    pub fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// So many bytes were sent.
    pub fn spend(&mut self, bytes: usize) {
        self.0 -= bytes as i64;
    }

    /// The peer takes more, or with a negative number less.
    ///
    /// # Errors
    /// If the window becomes larger than any may be.
    pub fn change(&mut self, by: i64) -> Result<(), WindowBroken> {
        let changed = self.0 + by;
        if changed > WINDOW_MAX {
            return Err(WindowBroken);
        }
        self.0 = changed;
        Ok(())
    }
}

/// Bytes that the peer may send. What was consumed is given back in large steps.
#[derive(Clone, Copy, Debug)]
pub struct InputWindow {
    open: u32,
    /// Bytes that were consumed, which the peer was not told yet.
    owed: u32,
}

impl InputWindow {
    /// A window of so many bytes.
    pub fn of(bytes: u32) -> Self {
        Self { open: bytes, owed: 0 }
    }

    /// So many bytes came.
    ///
    /// # Errors
    /// If they are more than it allows.
    pub fn take(&mut self, bytes: u32) -> Result<(), WindowBroken> {
        self.open = self.open.checked_sub(bytes).ok_or(WindowBroken)?;
        Ok(())
    }

    /// So many bytes were consumed.
    pub fn give_back(&mut self, bytes: usize) {
        self.owed = self.owed.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// The step by which the window has to be opened, if it is half of the whole: a peer that still has more than
    /// that does not wait.
    pub fn take_due(&mut self, whole: u32) -> Option<u32> {
        if self.owed < whole / 2 {
            return None;
        }
        self.open += self.owed;
        Some(std::mem::take(&mut self.owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_window_may_be_negative_and_has_an_upper_bound() {
        let mut window = OutputWindow::of(100);
        window.spend(80);
        assert_eq!(window.change(-50), Ok(()));
        assert_eq!(window.room(), 0);
        assert_eq!(window.change(31), Ok(()));
        assert_eq!(window.room(), 1);
        assert_eq!(window.change(WINDOW_MAX), Err(WindowBroken));
        assert_eq!(window.change(WINDOW_MAX - 1), Ok(()));
    }

    #[test]
    fn an_input_window_is_opened_in_steps_of_half() {
        let mut window = InputWindow::of(100);
        assert_eq!(window.take(101), Err(WindowBroken));
        assert_eq!(window.take(100), Ok(()));
        window.give_back(49);
        assert_eq!(window.take_due(100), None);
        window.give_back(1);
        assert_eq!(window.take_due(100), Some(50));
        assert_eq!(window.take(51), Err(WindowBroken));
    }
}
