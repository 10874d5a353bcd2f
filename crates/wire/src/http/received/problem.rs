//! Why a response cannot be read, and where in it.
//!
//! Owns one variant for each way in which a server fails its client. After any of them nobody can say where
//! the next response begins, so the connection is closed (RFC 9112, 6.3 and 8).

use std::fmt;

use crate::http::refusal::{Reason, Refusal};

/// A response that cannot be read: what is wrong, and where. The server or the network is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{} ({})", .problem.text(), .part)]
pub struct ResponseError {
    /// The problem.
    pub problem: ResponseProblem,
    /// Where it is.
    pub part: ResponsePart,
}

/// A problem of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseProblem {
    /// It breaks a rule for all messages, requests and responses alike.
    Rule(Reason),
    /// The first bytes are not `HTTP/`.
    NotHttp,
    /// The status is not three digits that form a number of at least 100.
    InvalidStatus,
    /// There are several Content-Lengths with different values.
    DifferentLengths,
    /// 101 without a request for an upgrade (RFC 9110, 7.8).
    UnaskedUpgrade,
    /// More interim responses than [`limits::RESPONSE_INTERIM_COUNT`](crate::limits::RESPONSE_INTERIM_COUNT).
    TooManyInterim,
    /// The connection ended before the response began: the server closed a kept connection. The request
    /// may be retried if that does no harm (RFC 9112, 9.3.1).
    ClosedBefore,
    /// The connection ended within the response (RFC 9112, 8).
    ClosedWithin,
}

/// A part of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponsePart {
    /// The first line.
    StatusLine,
    /// The field line with this number, from 1. The empty line after the last one counts too.
    Field(u16),
    /// The content, with its chunks and trailers.
    Body,
}

impl ResponseProblem {
    /// The problem in a few words, for a log or a report.
    pub const fn text(self) -> &'static str {
        match self {
            ResponseProblem::Rule(reason) => reason.text(),
            ResponseProblem::NotHttp => "it does not begin with HTTP/",
            ResponseProblem::InvalidStatus => "the status is not three digits from 100 on",
            ResponseProblem::DifferentLengths => "more than one value of Content-Length",
            ResponseProblem::UnaskedUpgrade => "101 where no upgrade was asked for",
            ResponseProblem::TooManyInterim => "too many interim responses",
            ResponseProblem::ClosedBefore => "the connection ended before the response",
            ResponseProblem::ClosedWithin => "the connection ended within the response",
        }
    }

    /// The error with its place.
    pub(super) const fn at(self, part: ResponsePart) -> ResponseError {
        ResponseError { problem: self, part }
    }
}

impl From<Refusal> for ResponseError {
    /// For a body; heads name their own part.
    fn from(refusal: Refusal) -> ResponseError {
        ResponseProblem::Rule(refusal.reason()).at(ResponsePart::Body)
    }
}

impl fmt::Display for ResponsePart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResponsePart::StatusLine => formatter.write_str("status line"),
            ResponsePart::Field(number) => write!(formatter, "field line {number}"),
            ResponsePart::Body => formatter.write_str("body"),
        }
    }
}
