//! Why a verb failed, and its exit status.
//!
//! Has no details of single verbs: a message is written where the fault is known.

use std::fmt;

/// Why a verb failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The project has a fault, or a program that the verb needs failed.
    Work(String),
    /// The command line is wrong.
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
