//! Bodies whose length is unknown when the head is written: in chunks, to an HTTP/1.0 client until the close, on a
//! stream until its end.
//!
//! Owns such a body, written in one call ([`BodyWriter`]) or in parts across calls ([`Reply::begin_parts`]). Never
//! decides when a part is requested, and never knows how its end is marked.

use wire::http::fields::FieldList;
use wire::http::status::Status;

use super::framing::StreamFraming;
use super::reply::Reply;

impl<'a> Reply<'a> {
    /// Begins a body of unknown length: in chunks, or for an HTTP/1.0 client until the close.
    pub fn stream<'r>(
        &'r mut self,
        status: Status,
        content_type: &'static str,
    ) -> BodyWriter<'r, 'a> {
        let framing = self.begin_unmeasured(status);
        // A media type of the program is a field value.
        let _valid = self.field("Content-Type", content_type.as_bytes());
        self.end_head();
        BodyWriter { reply: self, framing, trailers: FieldList::new() }
    }

    /// Begins the head of an answer that is sent in parts. Fields, [`Reply::end_head`] and the first [`Reply::part`]
    /// follow, then [`Answer::Part`](super::Answer::Part).
    pub fn begin_parts(&mut self, status: Status) {
        let framing = self.begin_unmeasured(status);
        self.continue_later(framing);
    }

    /// Adds a part of the body, if there is a body. Returns whether anything was added.
    pub fn part(&mut self, bytes: &[u8]) -> Added {
        let framing = self.framing().unwrap_or(StreamFraming::Omitted);
        if bytes.is_empty() || framing == StreamFraming::Omitted {
            return Added::Nothing;
        }
        self.put_part(framing, bytes);
        Added::Bytes
    }

    /// Ends the parts, if there were any.
    #[cold]
    pub(super) fn end_parts(&mut self) {
        if let Some(framing) = self.framing() {
            self.end_body(framing, &FieldList::new());
        }
    }
}

/// The result of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// Bytes were added for the client.
    Bytes,
    /// Nothing was added: the part was empty, or the answer has no body.
    Nothing,
}

/// A body that is being written. Dropping it ends the body without trailers.
///
/// ```
/// use http::{Function, Http, Reply, Request, HttpSettings, Status};
/// use world::Stage;
///
/// fn answer(_request: &Request<'_>, reply: &mut Reply<'_>) {
///     let mut stream = reply.stream(Status::OK, "text/plain");
///     stream.write(b"one,");
///     stream.write(b"two");
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Function(answer), HttpSettings::default().into(), None));
/// let client = stage.connect();
/// let text = stage.exchange(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
/// assert!(text.ends_with("\r\n\r\n4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n"), "{text}");
/// ```
pub struct BodyWriter<'r, 'a> {
    reply: &'r mut Reply<'a>,
    framing: StreamFraming,
    trailers: FieldList,
}

impl BodyWriter<'_, '_> {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.reply.put_part(self.framing, bytes);
    }

    /// Ends the body with trailers. Clients of HTTP/1.0 get none.
    pub fn end(mut self, trailers: FieldList) {
        self.trailers = trailers;
    }
}

impl Drop for BodyWriter<'_, '_> {
    fn drop(&mut self) {
        self.reply.end_body(self.framing, &self.trailers);
    }
}
