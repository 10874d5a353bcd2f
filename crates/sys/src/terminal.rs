//! The terminal a program writes to.
//!
//! Owns its size. Never writes to it.

use std::os::fd::AsFd;

/// Columns of a terminal; `None` if the descriptor is not a terminal, or does not say.
pub fn columns(terminal: impl AsFd) -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

// Miri does not support ioctl.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::columns;

    #[test]
    fn pipe_has_no_columns() {
        let (reader, _writer) = std::io::pipe().expect("a pipe can be made");
        assert_eq!(columns(reader), None);
    }
}
