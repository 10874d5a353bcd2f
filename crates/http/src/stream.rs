//! Bodies whose length is unknown when the head is written: in chunks, or to an HTTP/1.0 client
//! until the close.
//!
//! Owns the framing of such a body, written in one call ([`Stream`]) or in parts across calls
//! ([`Reply::begin_parts`]). Never decides when a part is requested.

use runtime::output::Output;
use wire::http::body::{write_chunk, write_last_chunk};
use wire::http::head::Version;
use wire::http::response::InvalidField;
use wire::http::status::Status;

use super::framing::StreamFraming;
use super::reply::{BodyUse, Persistence, Reply};

/// An answer that was begun in an earlier call and is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) status: Status,
    pub(super) body_bytes: u64,
    pub(super) framing: Option<StreamFraming>,
    pub(super) persistence: Persistence,
}

impl Reply<'_> {
    /// Begins a body of unknown length: in chunks, or for an HTTP/1.0 client until the close.
    pub fn stream(&mut self, status: Status, content_type: &'static str) -> Stream<'_> {
        let framing = self.begin_unmeasured(status);
        let out = self.output.buffer();
        out.extend_from_slice(b"Content-Type: ");
        out.extend_from_slice(content_type.as_bytes());
        out.extend_from_slice(b"\r\n");
        self.end_head();
        Stream { output: self.output, framing, body_bytes: &mut self.body_bytes, ended: false }
    }

    /// Begins the head of an answer that is sent in parts. Fields, [`Reply::end_head`] and the first [`Reply::part`] follow,
    /// then [`Answer::Part`](super::Answer::Part).
    pub fn begin_parts(&mut self, status: Status) {
        self.framing = Some(self.begin_unmeasured(status));
    }

    /// Begins a head, with the fields that say how its body ends.
    fn begin_unmeasured(&mut self, status: Status) -> StreamFraming {
        // RFC 9112 section 6.1: no transfer coding without a body, whatever the method.
        let has_body = Self::has_length(status) && status != Status::RESET_CONTENT;
        let chunked = self.version == Version::Http11;
        if has_body && !chunked {
            self.persistence = Persistence::Closed;
        }
        self.begin(status);
        if has_body && chunked {
            self.output.put(b"Transfer-Encoding: chunked\r\n");
        } else if status == Status::RESET_CONTENT {
            self.output.put(b"Content-Length: 0\r\n");
        }
        match (has_body, self.body_use) {
            (false, _) | (true, BodyUse::Omit) => StreamFraming::Omitted,
            (true, BodyUse::Send) if chunked => StreamFraming::Chunked,
            (true, BodyUse::Send) => StreamFraming::UntilClose,
        }
    }

    /// Whether its head was written, in this call or an earlier one. Then only [`Reply::part`] may follow.
    pub fn is_begun(&self) -> bool {
        self.status.is_some()
    }

    /// Adds a part of the body, if there is a body. Returns whether anything was added.
    pub fn part(&mut self, bytes: &[u8]) -> Added {
        let framing = self.framing.unwrap_or(StreamFraming::Omitted);
        if bytes.is_empty() || framing == StreamFraming::Omitted {
            return Added::Nothing;
        }
        self.body_bytes += bytes.len() as u64;
        match framing {
            StreamFraming::Chunked => write_chunk(self.output.buffer(), bytes),
            StreamFraming::UntilClose | StreamFraming::Omitted => self.output.put(bytes),
        }
        Added::Bytes
    }

    /// Ends the parts, if there were any.
    pub(super) fn end_parts(&mut self) {
        if self.framing == Some(StreamFraming::Chunked) {
            write_last_chunk(self.output.buffer(), &[]).expect("no trailers, nothing to refuse");
        }
    }

    /// The state that is needed for the rest of the answer.
    pub(super) fn begun(&self, status: Status) -> Begun {
        let (framing, persistence) = (self.framing, self.persistence);
        Begun { status, body_bytes: self.body_bytes, framing, persistence }
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
/// use http::{Function, Http, Reply, Request, Settings, Status};
/// use world::Stage;
///
/// fn answer(_request: &Request<'_>, reply: &mut Reply<'_>) {
///     let mut stream = reply.stream(Status::OK, "text/plain");
///     stream.write(b"one,");
///     stream.write(b"two");
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Function(answer), Settings::default().into(), None));
/// let client = stage.connect();
/// let text = stage.exchange(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
/// assert!(text.ends_with("\r\n\r\n4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n"), "{text}");
/// ```
pub struct Stream<'r> {
    output: &'r mut Output,
    framing: StreamFraming,
    body_bytes: &'r mut u64,
    ended: bool,
}

impl Stream<'_> {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        *self.body_bytes += bytes.len() as u64;
        match self.framing {
            StreamFraming::Chunked => write_chunk(self.output.buffer(), bytes),
            StreamFraming::UntilClose => self.output.put(bytes),
            StreamFraming::Omitted => {}
        }
    }

    /// Ends the body with trailers. Only HTTP/1.1 clients get them.
    ///
    /// # Errors
    /// If a trailer cannot be in a head. Then the body is ended without trailers.
    pub fn end(mut self, trailers: &[(&str, &[u8])]) -> Result<(), InvalidField> {
        self.ended = true;
        if self.framing != StreamFraming::Chunked {
            return Ok(());
        }
        let written = write_last_chunk(self.output.buffer(), trailers);
        if written.is_err() {
            self.ended = false;
        }
        written
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if !self.ended && self.framing == StreamFraming::Chunked {
            write_last_chunk(self.output.buffer(), &[]).expect("no trailers, nothing to refuse");
        }
    }
}
