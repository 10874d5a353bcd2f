//! Why a verb did not succeed, and the exit status that says so.
//!
//! Never holds details of one verb: a message is made where the fault is known.

use std::fmt;

/// The outcome of a verb that did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work was done and found fault with the project, or a program it needs failed.
    Work(String),
    /// The command line makes no sense.
    Usage(String),
}

impl Failure {
    /// The status of the command-line contract: 1 failed, 2 wrong use.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Failure::Work(_) => 1,
            Failure::Usage(_) => 2,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Work(message) => formatter.write_str(message),
            Failure::Usage(message) => write!(formatter, "{message} (see `cargo xtask help`)"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Work(error.to_string())
    }
}
