//! Why a coordinator and an agent cannot work together.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error between a coordinator and an agent.
#[derive(Debug)]
pub enum AgentError {
    /// The connection failed, or the other side did not answer in time.
    Connection(io::Error),
    /// An address that is none, or cannot be resolved.
    Address {
        /// As given.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// The other side has another version of the program.
    Version(String),
    /// The other side does not have the same key.
    Key,
    /// A key file cannot be used.
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A message that the other side did not make.
    Forged,
    /// A message that is not understood.
    Garbage,
    /// A message with more bytes than allowed.
    TooLong(usize),
    /// The other side said something else than what comes next.
    Unexpected,
    /// The agent refuses its task.
    Refused(String),
    /// An agent may not listen where it was told to.
    Listen(String),
    /// The system has no random numbers.
    NoRandomness,
}

impl fmt::Display for AgentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    out.write_str("no answer in time; it may be busy with another measurement")
                }
                io::ErrorKind::UnexpectedEof => out.write_str("it closed the connection"),
                _ => write!(out, "the connection failed: {error}"),
            },
            Self::Address { text, why } => write!(out, "`{text}`: {why}; write HOST:PORT"),
            Self::Version(version) => write!(
                out,
                "it is version {version} and this is {}; install the same version on all hosts",
                env!("CARGO_PKG_VERSION")
            ),
            Self::Key => out.write_str(
                "it does not have the same key; give both sides the same file with --key-file",
            ),
            Self::KeyFile { path, why } => write!(out, "--key-file {}: {why}", path.display()),
            Self::Forged => out.write_str("a message was changed on its way"),
            Self::Garbage => out.write_str("it said something that is not of the protocol"),
            Self::TooLong(bytes) => write!(out, "a message of {bytes} bytes is too long"),
            Self::Unexpected => out.write_str("it said something else than what comes next"),
            Self::Refused(why) => out.write_str(why),
            Self::Listen(why) => out.write_str(why),
            Self::NoRandomness => out.write_str("the system gives no random numbers"),
        }
    }
}

impl std::error::Error for AgentError {}

impl From<io::Error> for AgentError {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}
