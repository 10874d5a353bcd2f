//! Flow control (RFC 9113, 5.2): how much either side may still send.
//!
//! Owns both kinds of window, of a stream or of the whole connection. Never sends a frame.

/// The largest window (RFC 9113, 6.9.1).
const WINDOW_MAX: i64 = (1 << 31) - 1;

/// A window became larger than it may be, or more came than it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowBroken;

/// Bytes that the client takes. Negative if it has made the window smaller meanwhile (RFC 9113, 6.9.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputWindow(i64);

impl OutputWindow {
    pub(super) fn of(bytes: u32) -> Self {
        Self(bytes.into())
    }

    /// Bytes that may be sent now.
    pub(super) fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.0 -= bytes as i64;
    }

    /// The client takes more, or with a negative number less.
    pub(super) fn change(&mut self, by: i64) -> Result<(), WindowBroken> {
        let changed = self.0 + by;
        if changed > WINDOW_MAX {
            return Err(WindowBroken);
        }
        self.0 = changed;
        Ok(())
    }
}

/// Bytes that the client may send. Negative if this side has made the window smaller meanwhile (RFC 9113, 6.9.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct InputWindow(i64);

impl InputWindow {
    pub(super) fn of(bytes: u32) -> Self {
        Self(bytes.into())
    }

    /// Bytes that the client may send now.
    pub(super) fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// So many bytes came.
    pub(super) fn take(&mut self, bytes: u32) -> Result<(), WindowBroken> {
        if bytes > 0 && i64::from(bytes) > self.0 {
            return Err(WindowBroken);
        }
        self.0 -= i64::from(bytes);
        Ok(())
    }

    /// The client was told that it may send more, or with a negative number less.
    pub(super) fn change(&mut self, by: i64) {
        self.0 += by;
    }

    /// Opens the window to so many bytes, if the client has less than half of them: then it may have to wait soon.
    /// Returns the step that it is told.
    pub(super) fn open(&mut self, most: usize) -> Option<u32> {
        let most = i64::try_from(most).unwrap_or(WINDOW_MAX).min(WINDOW_MAX);
        if most == 0 || self.0 > most / 2 {
            return None;
        }
        self.open_to(most)
    }

    /// Opens the window to so many bytes. Returns the step that the client is told.
    fn open_to(&mut self, most: i64) -> Option<u32> {
        // A window that was made smaller by much may need more than one step.
        let step = (most - self.0).min(WINDOW_MAX);
        let told = u32::try_from(step).ok().filter(|step| *step > 0)?;
        self.0 += step;
        Some(told)
    }

    /// Opens the window to so many bytes at least. Returns the step that the client is told.
    pub(super) fn open_at_least(&mut self, least: usize) -> Option<u32> {
        self.open_to(i64::try_from(least).unwrap_or(WINDOW_MAX))
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
    fn an_input_window_is_opened_when_less_than_half_is_left() {
        let mut window = InputWindow::of(100);
        assert_eq!(window.take(101), Err(WindowBroken));
        assert_eq!((window.take(49), window.open(100)), (Ok(()), None));
        assert_eq!((window.take(1), window.open(100)), (Ok(()), Some(50)));
        assert_eq!((window.take(60), window.open(0)), (Ok(()), None));
        window.change(-100);
        assert_eq!((window.room(), window.take(0), window.take(1)), (0, Ok(()), Err(WindowBroken)));
        assert_eq!((window.open_at_least(5), window.room()), (Some(65), 5));
        assert_eq!((window.open_at_least(5), window.open_at_least(4)), (None, None));
    }
}
