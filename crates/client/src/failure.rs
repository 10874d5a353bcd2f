//! Why an exchange failed.
//!
//! Owns one variant for each reason. All concern the other server, the network, a limit or the request; none is a fault
//! of the client.

use std::fmt;
use std::io::ErrorKind;

use runtime::transport::{CertificateFault, Violation};
use wire::h2::ErrorCode;
use wire::http::received::ResponseError;

use crate::answer_fault::AnswerFault;
use crate::url::UrlError;

/// Why an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeFailure {
    /// The text is not a URL that can be requested.
    Url(UrlError),
    /// The origin wants TLS, and there are no authorities by which to know its certificate.
    NoAuthorities,
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
    /// The handshake of TLS failed, or the connection ended with an alert.
    Tls(Violation),
    /// It took too long.
    Timeout(Deadline),
    /// The connection ended before the answer was complete.
    Closed,
    /// The bytes received are not an answer.
    NotAnAnswer(ResponseError),
    /// The frames received are not an answer.
    WrongAnswer(AnswerFault),
    /// The server breaks a rule of HTTP/2 that ends the connection: which one.
    Http2(&'static str),
    /// The server has ended the stream of the request. With the code REFUSED_STREAM it has done nothing for it.
    StreamReset(ErrorCode),
    /// The server has ended the connection with this code, and may have done something for the request.
    GoneAway(ErrorCode),
    /// The server has ended the connection with this code before it did anything for the request.
    NotServed(ErrorCode),
    /// The heads of the answer are too long.
    HeadTooLong,
    /// The body of the answer is longer than its limit in bytes, which a requester sets that keeps whole bodies.
    AnswerTooLong(usize),
    /// The server is stopping.
    Stopping,
}

/// The phase that took too long.
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
    /// All of it, at a time when the other server waited for the requester to send or to take bytes.
    Requester,
}

impl ExchangeFailure {
    /// The same in words that name the server, if it is about the server's TLS.
    pub fn at(self, server: &str) -> FailureAt<'_> {
        FailureAt { failure: self, server }
    }

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

/// A failure that names the server.
#[derive(Clone, Copy, Debug)]
pub struct FailureAt<'a> {
    failure: ExchangeFailure,
    server: &'a str,
}

impl fmt::Display for FailureAt<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failure {
            ExchangeFailure::Tls(why) => write_refusal(out, self.server, why),
            failure => failure.fmt(out),
        }
    }
}

/// Why there is no TLS with a server.
fn write_refusal(out: &mut fmt::Formatter<'_>, server: &str, why: Violation) -> fmt::Result {
    match why {
        Violation::Certificate(fault) => {
            write!(out, "the certificate of {server} {}", words_of(fault))
        }
        Violation::Alert(code) => {
            let name = tls::alert_name(code);
            write!(out, "{server} refused the connection: alert {code} {name}")
        }
        Violation::OtherProtocol => write!(out, "{server} speaks no TLS"),
        Violation::NothingInCommon => {
            write!(out, "{server} has no version or cipher of TLS in common with this client")
        }
        Violation::Cut => write!(out, "{server} closed the connection during the handshake"),
        Violation::Protocol | Violation::UnknownName => {
            write!(out, "{server} breaks the rules of TLS")
        }
    }
}

fn words_of(fault: CertificateFault) -> &'static str {
    match fault {
        CertificateFault::Missing => "is missing",
        CertificateFault::Expired => "has expired",
        CertificateFault::NotYetValid => "is not valid yet",
        CertificateFault::WrongName => "is for another name",
        CertificateFault::UnknownAuthority => "is by an unknown authority",
        CertificateFault::Revoked => "was revoked",
        CertificateFault::Invalid => "is invalid",
    }
}

impl fmt::Display for ExchangeFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Url(error) => return write!(out, "not a URL: {error}"),
            Self::NoAuthorities => "there are no authorities by which to know a certificate",
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
            Self::Tls(why) => return write_refusal(out, "the server", *why),
            Self::Timeout(_) => "timeout",
            Self::Closed => "closed before the answer was whole",
            Self::NotAnAnswer(error) => return write!(out, "not an HTTP answer: {error}"),
            Self::WrongAnswer(fault) => return write!(out, "not an HTTP answer: {fault}"),
            Self::Http2(rule) => {
                return write!(out, "the server breaks the rules of HTTP/2: {rule}");
            }
            Self::StreamReset(code) => {
                return write!(out, "the server ended the request: RST_STREAM {code}");
            }
            Self::GoneAway(code) => {
                return write!(out, "the server ended the connection: GOAWAY {code}");
            }
            Self::NotServed(code) => {
                return write!(out, "the server did not begin the request: GOAWAY {code}");
            }
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

impl std::error::Error for ExchangeFailure {}

impl From<AnswerFault> for ExchangeFailure {
    fn from(fault: AnswerFault) -> Self {
        Self::WrongAnswer(fault)
    }
}

impl From<UrlError> for ExchangeFailure {
    fn from(error: UrlError) -> Self {
        Self::Url(error)
    }
}
