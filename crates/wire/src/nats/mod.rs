//! The client protocol of NATS: what a client says, what a server says, and header fields of messages.
//!
//! Owns the framing of both directions, because the simulated server reads what our client writes. Knows no JetStream
//! and no subject's meaning. An operation is lent from the input: a caller passes the same bytes again, and more, until
//! an operation is complete.

mod client;
mod headers;
mod line;
mod server;

pub use client::{NatsClientSaid, NatsPublication};
pub use headers::{NatsHeaders, put_first_line, put_header};
pub use server::{NatsMessage, NatsServerSaid};

/// Why input is not of this protocol. The other side is at fault, and the connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NatsProblem {
    /// A control line is longer than [`NATS_LINE_SIZE`](crate::limits::NATS_LINE_SIZE).
    #[error("a control line is too long")]
    LineTooLong,
    /// A control line begins with no known word.
    #[error("a control line begins with no known word")]
    UnknownOperation,
    /// A control line lacks something, or has too much.
    #[error("a control line has other arguments than its operation needs")]
    Arguments,
    /// A size is no number, or the header fields are longer than the whole.
    #[error("the size of a message is not valid")]
    Size,
    /// A message is longer than was agreed.
    #[error("a message is larger than was agreed")]
    TooLarge,
    /// A message does not end where its size says.
    #[error("a message does not end where its size says")]
    Frame,
    /// A subject, or an error, is not UTF-8.
    #[error("a subject is not UTF-8")]
    NotUtf8,
}
