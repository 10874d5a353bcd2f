//! The output of a program as text.
//!
//! Owns nothing else: `run` waits for the program.

use std::process::Output;

/// The standard error of a program.
pub(crate) fn errors_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The standard output of a program.
pub(crate) fn printed_by(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
