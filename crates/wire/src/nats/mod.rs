//! The client protocol of NATS: what a client says, what a server says, and header fields of messages.
//!
//! Owns the framing of both directions, because the simulated server reads what our client writes. Knows no JetStream
//! and no subject's meaning. An operation is lent from the input: a caller passes the same bytes again, and more, until
//! an operation is complete.

mod client;
mod headers;
mod line;
mod server;

use std::fmt;

pub use client::{NatsClientSaid, NatsPublication};
pub use headers::{NatsHeaders, put_first_line, put_header};
pub use server::{NatsMessage, NatsServerSaid};

/// Why input is not of this protocol. The other side is at fault, and the connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatsProblem {
    /// A control line is longer than [`NATS_LINE_SIZE`](crate::limits::NATS_LINE_SIZE).
    LineTooLong,
    /// A control line begins with no known word.
    UnknownOperation,
    /// A control line lacks something, or has too much.
    Arguments,
    /// A size is no number, or the header fields are longer than the whole.
    Size,
    /// A message is longer than was agreed.
    TooLarge,
    /// A message does not end where its size says.
    Frame,
    /// A subject, or an error, is not UTF-8.
    NotUtf8,
}

impl NatsProblem {
    /// The text for logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LineTooLong => "a control line is too long",
            Self::UnknownOperation => "a control line begins with no known word",
            Self::Arguments => "a control line has other arguments than its operation needs",
            Self::Size => "the size of a message is not valid",
            Self::TooLarge => "a message is larger than was agreed",
            Self::Frame => "a message does not end where its size says",
            Self::NotUtf8 => "a subject is not UTF-8",
        }
    }
}

impl fmt::Display for NatsProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
