//! The outcome of a fetch, in the form and the words that a page gets.
//!
//! Owns these types. Never fetches.

use client::{ExchangeFailure, ResponseHead};
use wire::http::fields::FieldList;

/// The number of a fetch, unique on its scheduler.
pub use client::ExchangeId as Number;

/// The outcome of a fetch.
pub type FetchResult = (Number, Result<Got, ExchangeFailure>);

/// An answer, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    /// The whole answer.
    Whole(FetchedAnswer),
    /// The head of an answer that is read piece by piece ([`PageFetches::read_on`](super::PageFetches::read_on)).
    Head(FetchedAnswer),
    /// A piece of its body.
    Piece(Vec<u8>),
    /// The end of its body.
    End,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchedAnswer {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values, one per line.
    pub fields: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

impl FetchedAnswer {
    /// An answer of which the body has not come.
    pub(super) fn of(head: &ResponseHead) -> Self {
        Self { status: head.status, fields: lines(&head.fields), body: Vec::new() }
    }
}

fn lines(fields: &FieldList) -> Vec<u8> {
    let fields = fields.fields();
    let mut lines = Vec::with_capacity(fields.lines().len());
    for (name, value) in fields.iter() {
        lines.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
        lines.push(b'\n');
        lines.extend_from_slice(value);
        lines.push(b'\n');
    }
    lines
}

/// The text with which a page is told of a failure, of a server with this name if it was asked over TLS.
pub(crate) fn told(failure: ExchangeFailure, server: Option<&str>) -> String {
    match failure {
        ExchangeFailure::NotAllowed => "not allowed by `fetch` in [pages]".to_owned(),
        ExchangeFailure::TooMany => "too many fetches at once".to_owned(),
        ExchangeFailure::NoAuthorities => {
            "the system has no certificates of authorities; install the package ca-certificates, or set \
             `fetch_ca` in [pages]"
                .to_owned()
        }
        failure => match server {
            Some(server) => failure.at(server).to_string(),
            None => failure.to_string(),
        },
    }
}
