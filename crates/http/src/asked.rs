//! A request that the application answers now, and what carries it.
//!
//! Owns what its answer must know of its carrier. Never answers.

use wire::http::head;

use super::application::Answer;
use super::encoder::{Behind, Encoder};
use super::reply::Reply;
use super::request::Request;

/// A request, what carries it, and whether its body is read.
pub(super) struct Asked<'r> {
    request: Request<'r>,
    way: Way,
    rest: BodyRest,
}

/// The carrier of a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A connection of HTTP/1, on which this is the number of the request, from 1.
    Connection {
        /// The number.
        number: u32,
    },
    /// A stream of its own.
    Stream,
}

/// Whether the body is read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyRest {
    /// Yes, or there is no body.
    Read,
    /// No: the connection ends with the answer.
    Unread,
}

impl<'r> Asked<'r> {
    /// A request that came this way.
    #[inline(always)]
    pub(super) fn new(request: Request<'r>, way: Way, rest: BodyRest) -> Self {
        Self { request, way, rest }
    }

    /// The same request, with all of its body.
    pub(super) fn with_body(self, body: &'r [u8]) -> Self {
        let received = body.len() as u64;
        Self { request: Request { body, received, ..self.request }, ..self }
    }

    /// The same request, of whose body so many bytes came, which nobody needs.
    pub(super) fn with_discarded(self, bytes: usize) -> Self {
        Self { request: Request { received: bytes as u64, ..self.request }, ..self }
    }

    /// The same request, whose body is not read.
    pub(super) fn unread(self) -> Self {
        Self { rest: BodyRest::Unread, ..self }
    }

    #[inline(always)]
    pub(super) fn request(&self) -> &Request<'r> {
        &self.request
    }

    #[inline(always)]
    pub(super) fn head(&self) -> &'r head::RequestHead<'r, 'r> {
        self.request.head
    }

    /// The carrier.
    #[inline(always)]
    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// Whether its body is read.
    #[inline(always)]
    pub(super) fn rest(&self) -> BodyRest {
        self.rest
    }

    /// Whether its client takes this answer for a change of the protocol, which it is not.
    #[inline(always)]
    pub(super) fn mistakes(&self, answer: Answer, reply: &Reply<'_>) -> bool {
        self.way == Way::Stream
            && answer != Answer::Upgrade
            && reply.status().is_some_and(|status| reply.encoder().means_change(status))
    }
}

impl Way {
    /// The encoder of an answer after which nothing more comes this way.
    pub(super) fn last_encoder(self) -> Encoder {
        match self {
            Self::Connection { .. } => Encoder::LAST_TEXT,
            Self::Stream => Encoder::Blocks { behind: Behind::Body },
        }
    }
}
