//! Why a coordinator and an agent cannot work together.

use std::io;
use std::path::PathBuf;

use crate::limits::AGENTS_MAXIMUM;

/// An error between a coordinator and an agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The connection failed, or the other side did not answer in time.
    #[error("{}", of_connection(.0))]
    Connection(#[from] io::Error),
    /// An address that is none, or cannot be resolved.
    #[error("`{text}`: {why}; write HOST:PORT")]
    Address {
        /// As given.
        text: String,
        /// The fault.
        why: String,
    },
    /// More agents than a measurement has.
    #[error("{0} are more than a measurement has; name {AGENTS_MAXIMUM} at most")]
    TooMany(usize),
    /// The other side has another version of the program.
    #[error(
        "it is version {0} and this is {own}; install the same version on all hosts",
        own = env!("CARGO_PKG_VERSION")
    )]
    Version(String),
    /// The other side does not have the same key.
    #[error("it does not have the same key; give both sides the same file with --key-file")]
    Key,
    /// A key file cannot be used.
    #[error("--key-file {}: {why}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The fault of it.
        why: String,
    },
    /// A message that the other side did not make.
    #[error("a message was changed on its way")]
    Forged,
    /// A message that is not understood.
    #[error("it said something that is not of the protocol")]
    Garbage,
    /// A message with more bytes than allowed.
    #[error("a message of {0} bytes is too long")]
    TooLong(usize),
    /// The other side said something else than what comes next.
    #[error("it said something else than what comes next")]
    Unexpected,
    /// The agent refuses its task.
    #[error("{0}")]
    Refused(String),
    /// An agent may not listen where it was told to.
    #[error("{0}")]
    Listen(String),
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

fn of_connection(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "no answer in time; it may be busy with another measurement".to_owned()
        }
        io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => format!("the connection failed: {error}"),
    }
}
