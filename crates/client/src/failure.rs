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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeFailure {
    /// The text is not a URL that can be requested.
    #[error("not a URL: {0}")]
    Url(#[from] UrlError),
    /// The origin wants TLS, and there are no authorities by which to know its certificate.
    #[error("there are no authorities by which to know a certificate")]
    NoAuthorities,
    /// The method is not a token, or does not lead to an answer.
    #[error("not a method")]
    Method,
    /// A field would change the framing or the routing of the request.
    #[error("not a header")]
    Field,
    /// The body of the request is longer than its limit in bytes, which a requester sets that keeps whole bodies.
    #[error("the body of the request is longer than {0} bytes")]
    RequestTooLong(usize),
    /// The requester sent more or fewer bytes than it had announced.
    #[error("the body of the request has not the announced length")]
    RequestLength,
    /// The request may not reach the target.
    #[error("the target is not allowed")]
    NotAllowed,
    /// There are too many exchanges, or they hold too much memory.
    #[error("too many requests at once")]
    TooMany,
    /// The host name has no address.
    #[error("host not found")]
    NameNotFound,
    /// The connection was refused.
    #[error("connection refused")]
    Refused,
    /// There is no route to the host.
    #[error("host unreachable")]
    Unreachable,
    /// The connection could not be established.
    #[error("no connection")]
    NotConnected,
    /// The handshake of TLS failed, or the connection ended with an alert.
    #[error(fmt = refused_by_server)]
    Tls(Violation),
    /// It took too long.
    #[error("timeout")]
    Timeout(Deadline),
    /// The connection ended before the answer was complete.
    #[error("closed before the answer was whole")]
    Closed,
    /// The bytes received are not an answer.
    #[error("not an HTTP answer: {0}")]
    NotAnAnswer(ResponseError),
    /// The frames received are not an answer.
    #[error("not an HTTP answer: {0}")]
    WrongAnswer(#[from] AnswerFault),
    /// The server breaks a rule of HTTP/2 that ends the connection: which one.
    #[error("the server breaks the rules of HTTP/2: {0}")]
    Http2(&'static str),
    /// The server has ended the stream of the request. With the code REFUSED_STREAM it has done nothing for it.
    #[error("the server ended the request: RST_STREAM {0}")]
    StreamReset(ErrorCode),
    /// The server has ended the connection with this code, and may have done something for the request.
    #[error("the server ended the connection: GOAWAY {0}")]
    GoneAway(ErrorCode),
    /// The server has ended the connection with this code before it did anything for the request.
    #[error("the server did not begin the request: GOAWAY {0}")]
    NotServed(ErrorCode),
    /// The heads of the answer are too long.
    #[error("the head of the answer is longer than {} bytes", crate::limits::HEAD_BYTES)]
    HeadTooLong,
    /// The body of the answer is longer than its limit in bytes, which a requester sets that keeps whole bodies.
    #[error("the body of the answer is longer than {0} bytes")]
    AnswerTooLong(usize),
    /// The server is stopping.
    #[error("the server is stopping")]
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

    /// The same for the log of an operator, who wants to know which deadline has passed.
    pub fn in_log(self, server: &str) -> String {
        match self {
            Self::Timeout(deadline) => format!("{self}: {}", late_in(deadline)),
            failure => failure.at(server).to_string(),
        }
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

fn refused_by_server(why: &Violation, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_refusal(out, "the server", *why)
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

/// The part of an exchange that did not come in time.
fn late_in(deadline: Deadline) -> &'static str {
    match deadline {
        Deadline::Connect => "no connection",
        Deadline::Head => "no first byte of an answer",
        Deadline::Pause => "a pause was too long",
        Deadline::Whole => "the whole took too long",
        Deadline::Requester => "the whole took too long, and the client was waited for",
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
        CertificateFault::Invalid => {
            "is invalid: perhaps an authority's own (CA:TRUE), or its purpose or signature does not fit"
        }
    }
}
