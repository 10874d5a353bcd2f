//! The windows of a client (RFC 9113, 5.2): how much it may still send, of one stream or of all.
//!
//! Owns when a window is opened, and that it can be made smaller. Never sends a frame.

use wire::h2::{WINDOW_BYTES_MAX, WindowBroken};

/// The largest window.
const WINDOW_MAX: i64 = WINDOW_BYTES_MAX as i64;

/// Bytes that the client may send. Negative if this side has made the window smaller meanwhile (RFC 9113, 6.9.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentWindow(i64);

impl ContentWindow {
    pub(crate) fn of(bytes: u32) -> Self {
        Self(bytes.into())
    }

    /// Bytes that the client may send now.
    pub(crate) fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// So many bytes came.
    pub(crate) fn take(&mut self, bytes: u32) -> Result<(), WindowBroken> {
        if bytes > 0 && i64::from(bytes) > self.0 {
            return Err(WindowBroken);
        }
        self.0 -= i64::from(bytes);
        Ok(())
    }

    /// The client was told that it may send more, or with a negative number less.
    pub(crate) fn change(&mut self, by: i64) {
        self.0 += by;
    }

    /// Opens the window to so many bytes, if the client has less than half of them: then it may have to wait soon.
    /// Returns the step that it is told.
    pub(crate) fn open(&mut self, most: usize) -> Option<u32> {
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
    pub(crate) fn open_at_least(&mut self, least: usize) -> Option<u32> {
        self.open_to(i64::try_from(least).unwrap_or(WINDOW_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_window_is_opened_when_less_than_half_is_left() {
        let mut window = ContentWindow::of(100);
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
