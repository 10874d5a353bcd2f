//! Printing what a verb has to say.
//!
//! Owns that a reader which has seen enough and closed (`| head`) is no error.

use std::io::{ErrorKind, Write};

use crate::Failure;

/// Prints a text as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::Failed(format!("cannot print: {error}"))),
    }
}

/// Prints a line.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}
