//! Why a fetch failed, in the words that a page gets.
//!
//! Owns one variant per reason. All concern the other server, the network or the URL; none is a
//! fault of this server.

use std::fmt;
use std::io::ErrorKind;

use wire::http::received::ResponseError;

use crate::limits::{FETCH_BODY_SIZE, FETCH_HEAD_SIZE, FETCH_URL_SIZE};

/// Why a fetch came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The URL is of no scheme that is known here.
    NotHttp,
    /// The URL begins with `https:`.
    Https,
    /// The URL is longer than the bound.
    UrlTooLong,
    /// The URL holds what a request line cannot.
    UrlCharacter,
    /// The URL names a user, which belongs into a field.
    UserInformation,
    /// The URL has a port that is none.
    Port,
    /// The URL has no host, or one that cannot be.
    HostName,
    /// The method is no word, or one that leads to something else than an answer.
    Method,
    /// A field would change what the request means.
    Field,
    /// The configuration does not allow the target.
    NotAllowed,
    /// So many are under way, or hold so much, that one more has no room.
    TooMany,
    /// The host's name has no address.
    NameNotFound,
    /// Nobody listens there.
    Refused,
    /// There is no way to the host.
    Unreachable,
    /// The connection could not be begun or made.
    NotConnected,
    /// It was not done in its time.
    Timeout,
    /// The connection ended before the answer was whole.
    Closed,
    /// What came is not an answer.
    NotAnAnswer(ResponseError),
    /// The head of the answer is longer than the bound.
    HeadTooLong,
    /// The body of the request is longer than the bound.
    RequestTooLong,
    /// The body of the answer is longer than the bound.
    BodyTooLong,
    /// The server is about to stop.
    Stopping,
}

impl Failure {
    /// What a connection that could not be made means.
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
