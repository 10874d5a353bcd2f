//! Why a fetch failed, in the words that a page gets.
//!
//! Owns one variant per reason. All concern the other server, the network or the URL; none is a
//! fault of this server.

use std::fmt;
use std::io::ErrorKind;

use wire::http::received::ResponseError;

use crate::limits::{FETCH_BODY_SIZE, FETCH_HEAD_SIZE, FETCH_URL_SIZE};

/// Why a fetch failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The URL has an unknown scheme.
    NotHttp,
    /// The URL begins with `https:`.
    Https,
    /// The URL is too long.
    UrlTooLong,
    /// The URL contains a character that a request line cannot contain.
    UrlCharacter,
    /// The URL contains a user name, which belongs in a field.
    UserInformation,
    /// The URL has an invalid port.
    Port,
    /// The URL has no host, or an invalid one.
    HostName,
    /// The method is not a token, or does not lead to an answer.
    Method,
    /// A field would change the framing or the routing of the request.
    Field,
    /// The configuration does not allow the target.
    NotAllowed,
    /// There are too many fetches, or they hold too much memory.
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
    Timeout,
    /// The connection ended before the answer was complete.
    Closed,
    /// The bytes received are not an answer.
    NotAnAnswer(ResponseError),
    /// The head of the answer is too long.
    HeadTooLong,
    /// The body of the request is too long.
    RequestTooLong,
    /// The body of the answer is too long.
    BodyTooLong,
    /// The server is stopping.
    Stopping,
}

impl Failure {
    /// The failure for a connection that could not be established.
    pub(super) fn of_connecting(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Self::Refused,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::Unreachable,
            ErrorKind::TimedOut => Self::Timeout,
            ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory => Self::TooMany,
            ErrorKind::Interrupted => Self::Stopping,
            _ => Self::NotConnected,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::NotHttp => "not a URL: it does not begin with http://",
            Self::Https => "https is not supported",
            Self::UrlTooLong => {
                return write!(out, "not a URL: it is longer than {FETCH_URL_SIZE} bytes");
            }
            Self::UrlCharacter => "not a URL: it holds blanks or characters that are to be encoded",
            Self::UserInformation => {
                "not a URL: it names a user; set the header 'authorization' instead"
            }
            Self::Port => "not a URL: its port is not a number from 1 to 65535",
            Self::HostName => "not a URL: its host is neither a name nor an address",
            Self::Method => "not a method",
            Self::Field => "not a header",
            Self::NotAllowed => "not allowed by `fetch` in [pages]",
            Self::TooMany => "too many fetches at once",
            Self::NameNotFound => "host not found",
            Self::Refused => "connection refused",
            Self::Unreachable => "host unreachable",
            Self::NotConnected => "no connection",
            Self::Timeout => "timeout",
            Self::Closed => "closed before the answer was whole",
            Self::NotAnAnswer(error) => return write!(out, "not an HTTP answer: {error}"),
            Self::HeadTooLong => {
                return write!(
                    out,
                    "the head of the answer is longer than {FETCH_HEAD_SIZE} bytes"
                );
            }
            Self::RequestTooLong => {
                return write!(
                    out,
                    "the body of the request is longer than {FETCH_BODY_SIZE} bytes"
                );
            }
            Self::BodyTooLong => {
                return write!(
                    out,
                    "the body of the answer is longer than {FETCH_BODY_SIZE} bytes"
                );
            }
            Self::Stopping => "the server is stopping",
        };
        out.write_str(words)
    }
}

impl std::error::Error for Failure {}
