//! The expected meaning of a stream of requests, read at once with the codecs alone.
//!
//! Owns the model of a connection: its requests, and how the stream ends. There is no state between requests and
//! no cut, so the model is simple enough to be trusted.

use http::{BodyPolicy, HttpVersion, Method, Status};
use wire::http::body::{BodyDecoder, BodyLimits, BodyPiece};
use wire::http::head::{self, FieldSlots, Framing, Head, HeadLimits, RequestTarget};
use wire::http::url::Scheme;

/// Bytes of an unwanted body that are read nevertheless.
pub(super) const IGNORED_MAX: u64 = 100;

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Echo,
    Stream,
    Wait,
    Ignored,
    VeryLate,
    Nothing,
    Many,
    Taken,
}

/// A request that is to be answered.
#[derive(Debug)]
pub(super) struct Asked<'s> {
    pub(super) method: Method,
    pub(super) target: &'s [u8],
    pub(super) body: Vec<u8>,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// More requests may follow.
    Open,
    /// The answer to the last request is the last one; bytes after it are ignored.
    Closed,
    /// The bytes after the last request are refused.
    Refused(Status),
}

/// The meaning of a stream.
#[derive(Debug)]
pub(super) struct Conversation<'s> {
    pub(super) requests: Vec<Asked<'s>>,
    pub(super) end: End,
    /// The method of the refused request, if its head could be parsed or it is one for a head.
    refused: Option<Method>,
    /// Requests with `Expect: 100-continue`.
    pub(super) expectations: usize,
}

impl Conversation<'_> {
    /// The number of answers.
    pub(super) fn answers(&self) -> usize {
        self.requests.len() + usize::from(matches!(self.end, End::Refused(_)))
    }

    /// The method of the request that an answer belongs to.
    pub(super) fn method_of(&self, answer: usize) -> Option<Method> {
        self.requests.get(answer).map(|request| request.method).or(self.refused)
    }
}

/// The result of one body.
enum Content {
    Whole { body: Vec<u8>, length: usize },
    Unread,
    Partial,
    Refused(Status),
}

/// Reads a stream.
pub(super) fn converse(stream: &[u8]) -> Conversation<'_> {
    let requests = Vec::new();
    let mut said = Conversation { requests, end: End::Open, refused: None, expectations: 0 };
    let mut rest = stream;
    while !rest.is_empty() {
        let mut slots = FieldSlots::new();
        let (request, length) =
            match head::parse(rest, Scheme::Http, &HeadLimits::default(), &mut slots) {
                Ok(Head::Complete { request, length }) => (request, length),
                Ok(Head::Partial) => return said,
                Err(refusal) => {
                    said.end = End::Refused(refusal.status());
                    // The first word of a request says so, whatever is wrong with the rest.
                    said.refused = rest.starts_with(b"HEAD ").then_some(Method::Head);
                    return said;
                }
            };
        let target = match request.target {
            RequestTarget::Origin(target) => target,
            RequestTarget::Asterisk => b"*",
        };
        let way = Way::of_target(target);
        said.expectations += usize::from(request.expects_continue);
        let (body, length, read) = match content(&request, way, &rest[length..]) {
            Content::Whole { body, length: of_body } => (body, length + of_body, true),
            Content::Unread => (Vec::new(), length, false),
            Content::Partial => return said,
            Content::Refused(status) => {
                said.end = End::Refused(status);
                said.refused = Some(request.method);
                return said;
            }
        };
        // For an HTTP/1.0 client a stream can only end with the connection (RFC 9112 section 6.3).
        let ended_by_close = way == Way::Stream && request.version == HttpVersion::Http10;
        said.requests.push(Asked { method: request.method, target, body });
        if !read || !request.persistent || ended_by_close {
            said.end = End::Closed;
            return said;
        }
        rest = &rest[length..];
    }
    said
}

/// The body at the front of the bytes.
fn content(request: &head::RequestHead<'_, '_>, way: Way, bytes: &[u8]) -> Content {
    if request.framing == Framing::None {
        return Content::Whole { body: Vec::new(), length: 0 };
    }
    let limit = match way.body_policy() {
        BodyPolicy::Collect { limit }
        | BodyPolicy::Admit { limit }
        | BodyPolicy::Stream { limit } => limit,
        BodyPolicy::Ignore => {
            let long = matches!(request.framing, Framing::Length(size) if size > IGNORED_MAX);
            if long || request.expects_continue {
                return Content::Unread;
            }
            IGNORED_MAX
        }
    };
    let limits = BodyLimits { body_size: limit, ..BodyLimits::default() };
    let mut decoder = match BodyDecoder::new(request.framing, &limits) {
        Ok(decoder) => decoder,
        Err(refusal) => return Content::Refused(refusal.status()),
    };
    let (mut body, mut length) = (Vec::new(), 0);
    loop {
        match decoder.next(&bytes[length..]) {
            Ok((count, piece)) => {
                length += count;
                match piece {
                    BodyPiece::Data(data) => body.extend_from_slice(data),
                    BodyPiece::NeedMore => return Content::Partial,
                    BodyPiece::End => return Content::Whole { body, length },
                }
            }
            Err(refusal) => return Content::Refused(refusal.status()),
        }
    }
}
