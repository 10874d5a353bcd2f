//! Why a request is answered without the application, and what its line in the log shows.
//!
//! Owns that. Never writes an answer.

use runtime::clock::Now;
use sys::socket::Peer;
use wire::http::method::Method;
use wire::http::status::Status;

use super::asked::Way;
use super::encoder::{Behind, Encoder};
use super::log::AccessLine;
use super::notes::Notes;
use super::reply::BodyUse;
use super::request::Request;
use super::sent::SentAnswer;

/// Why a request is answered without the application, and what is known of it.
pub(crate) struct Refused<'r> {
    status: Status,
    body_use: BodyUse,
    encoder: Encoder,
    seen: Seen<'r>,
}

/// The part of a refused request that the access log shows.
enum Seen<'r> {
    /// The part that was received, of this client.
    Input(Peer, &'r [u8]),
    /// A request that the application has not heard of.
    Unasked(&'r Request<'r>),
    /// A request that the application was asked about.
    Asked(&'r Request<'r>),
}

impl<'r> Refused<'r> {
    /// Input of a connection of HTTP/1, perhaps no request.
    pub(crate) fn input(status: Status, peer: Peer, seen: &'r [u8]) -> Self {
        // A request for a head is known by its first word, whatever is wrong with the rest.
        let is_head = seen.starts_with(b"HEAD ");
        let body_use = if is_head { BodyUse::of_method(Method::Head) } else { BodyUse::Send };
        Self { status, body_use, encoder: Encoder::LAST_TEXT, seen: Seen::Input(peer, seen) }
    }

    /// A request on a stream that has no valid head.
    pub(crate) fn values(status: Status, peer: Peer, seen: &'r [u8]) -> Self {
        let encoder = Encoder::Blocks { behind: Behind::Body };
        Self { encoder, ..Self::input(status, peer, seen) }
    }

    /// A request that came this way, and that the application has not heard of.
    pub(crate) fn unasked(status: Status, way: Way, request: &'r Request<'r>) -> Self {
        Self { seen: Seen::Unasked(request), ..Self::asked(status, way, request) }
    }

    /// A request that came this way, and that the application was asked about.
    pub(crate) fn asked(status: Status, way: Way, request: &'r Request<'r>) -> Self {
        let (body_use, encoder) = (BodyUse::of_method(request.method()), way.last_encoder());
        Self { status, body_use, encoder, seen: Seen::Asked(request) }
    }

    /// The status of its answer.
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Whether its answer has a body.
    pub(crate) fn body_use(&self) -> BodyUse {
        self.body_use
    }

    /// The encoder of its answer.
    pub(crate) fn encoder(&self) -> Encoder {
        self.encoder
    }

    /// The request, if it is one.
    pub(crate) fn request(&self) -> Option<&'r Request<'r>> {
        match self.seen {
            Seen::Input(..) => None,
            Seen::Unasked(request) | Seen::Asked(request) => Some(request),
        }
    }

    /// The request, if the application was asked about it.
    pub(crate) fn asked_request(&self) -> Option<&'r Request<'r>> {
        match self.seen {
            Seen::Input(..) | Seen::Unasked(_) => None,
            Seen::Asked(request) => Some(request),
        }
    }

    /// Its line.
    pub(crate) fn line<'l>(&self, sent: SentAnswer, now: Now, notes: &'l Notes) -> AccessLine<'l>
    where
        'r: 'l,
    {
        match self.seen {
            Seen::Input(peer, seen) => AccessLine::of_refused(peer, seen, sent, now, notes),
            Seen::Unasked(request) | Seen::Asked(request) => {
                AccessLine::of(request, sent, Some(now.monotonic_ns), now, notes)
            }
        }
    }
}
