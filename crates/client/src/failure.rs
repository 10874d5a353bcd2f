//! Why an exchange failed.
//!
//! Owns one variant for each reason. All concern the other server, the network, a limit or the request; none is a fault
//! of the client.

use std::fmt;
use std::io::ErrorKind;

use wire::http::received::ResponseError;

use crate::url::UrlError;

/// Why an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The text is not a URL that can be requested.
    Url(UrlError),
    /// The origin wants an encrypting transport, and there is none.
    Encrypted,
    /// The method is not a token, or does not lead to an answer.
    Method,
    /// A field would change the framing or the routing of the request.
    Field,
    /// The body of the request is longer than its limit in bytes, which a requester sets that keeps whole bodies.
    RequestTooLong(usize),
    /// The requester sent more or fewer bytes than it had announced.
    RequestLength,
    /// The request may not reach the target.
    NotAllowed,
    /// There are too many exchanges, or they hold too much memory.
    TooMany,
    /// The host name has no address.
    NameNotFound,
    /// The connection was refused.
    Refused,
    /// There is no route to the host.
    Unreachable,
    /// The connection could not be established.
    NotConnected,
    /// It took too long.
    Timeout(Deadline),
    /// The connection ended before the answer was complete.
    Closed,
    /// The bytes received are not an answer.
    NotAnAnswer(ResponseError),
    /// The heads of the answer are too long.
    HeadTooLong,
    /// The body of the answer is longer than its limit in bytes, which a requester sets that keeps whole bodies.
    AnswerTooLong(usize),
    /// The server is stopping.
    Stopping,
}

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Name, waiting line and handshake.
    Connect,
    /// The first byte of the answer.
    Head,
    /// The next byte, in either direction.
    Pause,
    /// All of it.
    Whole,
}

impl Failure {
    /// The failure for a connection that could not be established.
    pub(crate) fn of_connecting(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Self::Refused,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::Unreachable,
            ErrorKind::TimedOut => Self::Timeout(Deadline::Connect),
            ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory => Self::TooMany,
            ErrorKind::Interrupted => Self::Stopping,
            _ => Self::NotConnected,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Url(error) => return write!(out, "not a URL: {error}"),
            Self::Encrypted => "https is not supported",
            Self::Method => "not a method",
            Self::Field => "not a header",
            Self::RequestTooLong(most) => {
                return write!(out, "the body of the request is longer than {most} bytes");
            }
            Self::RequestLength => "the body of the request has not the announced length",
            Self::NotAllowed => "the target is not allowed",
            Self::TooMany => "too many requests at once",
            Self::NameNotFound => "host not found",
            Self::Refused => "connection refused",
            Self::Unreachable => "host unreachable",
            Self::NotConnected => "no connection",
            Self::Timeout(_) => "timeout",
            Self::Closed => "closed before the answer was whole",
            Self::NotAnAnswer(error) => return write!(out, "not an HTTP answer: {error}"),
            Self::HeadTooLong => {
                let most = crate::limits::HEAD_BYTES;
                return write!(out, "the head of the answer is longer than {most} bytes");
            }
            Self::AnswerTooLong(most) => {
                return write!(out, "the body of the answer is longer than {most} bytes");
            }
            Self::Stopping => "the server is stopping",
        };
        out.write_str(words)
    }
}

impl std::error::Error for Failure {}

impl From<UrlError> for Failure {
    fn from(error: UrlError) -> Self {
        Self::Url(error)
    }
}
