//! Prints the output of a verb.
//!
//! Owns that a reader that has seen enough and closed (`| head`) is no error.

use std::io::{ErrorKind, Write};

use crate::Failure;

/// Prints a text as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::Failed(format!("cannot print: {error}"))),
    }
}

/// Prints a line on standard error; where the terminal is gone nobody could read it.
pub(crate) fn complain(line: &str) {
    let _nobody_reads = writeln!(std::io::stderr(), "velodrome: {line}");
}

/// Prints a line.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}
