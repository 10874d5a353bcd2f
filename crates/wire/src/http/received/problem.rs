//! Why a response cannot be read, and where in it.
//!
//! Owns one variant for each way in which a server fails its client. After any of them nobody can say where
//! the next response begins, so the connection is closed (RFC 9112, 6.3 and 8).

use std::fmt;

use crate::http::refusal::{Reason, Refusal};

/// A response that cannot be read: what is wrong, and where. The server or the network is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResponseError {
    /// The problem.
    pub problem: Problem,
    /// Where it is.
    pub part: Part,
}

/// A problem of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
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
pub enum Part {
    /// The first line.
    StatusLine,
    /// The field line with this number, from 1. The empty line after the last one counts too.
    Field(u16),
    /// The content, with its chunks and trailers.
    Body,
}

impl Problem {
    /// The problem in a few words, for a log or a report.
    pub const fn text(self) -> &'static str {
        match self {
            Problem::Rule(reason) => reason.text(),
            Problem::NotHttp => "it does not begin with HTTP/",
            Problem::InvalidStatus => "the status is not three digits from 100 on",
            Problem::DifferentLengths => "more than one value of Content-Length",
            Problem::UnaskedUpgrade => "101 where no upgrade was asked for",
            Problem::TooManyInterim => "too many interim responses",
            Problem::ClosedBefore => "the connection ended before the response",
            Problem::ClosedWithin => "the connection ended within the response",
        }
    }

    /// The error with its place.
    pub(super) const fn at(self, part: Part) -> ResponseError {
        ResponseError { problem: self, part }
    }
}

impl From<Refusal> for ResponseError {
    /// For a body; heads name their own part.
    fn from(refusal: Refusal) -> ResponseError {
        Problem::Rule(refusal.reason()).at(Part::Body)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::StatusLine => formatter.write_str("status line"),
            Part::Field(number) => write!(formatter, "field line {number}"),
            Part::Body => formatter.write_str("body"),
        }
    }
}

impl fmt::Display for ResponseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.problem.text(), self.part)
    }
}

impl std::error::Error for ResponseError {}
