//! Writes a reply: status, header fields, body, directly into the turn's output.
//!
//! Owns the head, and bodies of known length; and that HEAD gets the fields of GET without the
//! body. `stream` handles bodies of unknown length. The plain path copies a few prepared pieces and
//! allocates nothing.

use runtime::output::{FileRegion, Output, SharedBytes};
use serde::Serialize;
use wire::http::head::Version;
use wire::http::method::Method;
use wire::http::response::{HeadWriter, InvalidField, append_field};
use wire::http::status::Status;

use super::framing::StreamFraming;
use super::json;

/// Whether the client gets a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyUse {
    /// Yes.
    Send,
    /// No: the method was HEAD.
    Omit,
}

impl BodyUse {
    /// RFC 9110 section 9.3.2: an answer to HEAD has no body, whatever its status.
    #[inline]
    pub(super) fn of_method(method: Method) -> Self {
        if method == Method::Head { Self::Omit } else { Self::Send }
    }
}

/// Whether the connection continues after the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    /// Yes, as is the default in HTTP/1.1.
    Kept,
    /// Yes, and an HTTP/1.0 client has to be told.
    KeptAlive,
    /// No: it is closed after the reply.
    Closed,
}

/// What the replies of one scheduler share: prepared pieces, and a buffer for bodies.
#[derive(Debug)]
pub(super) struct ReplyParts {
    /// `HTTP/1.1 200 OK`, `Date`, and line ends. The date is exact to the second.
    ok_and_date: Vec<u8>,
    /// The same, with `Content-Type` and the name of `Content-Length`, by media type.
    typed: Vec<(&'static str, Vec<u8>)>,
    date: [u8; 29],
    second: u64,
    /// The number of digits in the length of the last JSON body.
    json_digits: usize,
    pub(super) body: Vec<u8>,
}

/// Digits of the longest length.
const LENGTH_DIGITS_MAX: usize = 20;

/// Writes a number into exactly this many digits; `false` if it has more or fewer.
#[inline]
fn put_number(digits: &mut [u8], number: usize) -> bool {
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    rest == 0 && (digits.len() == 1 || digits.first() != Some(&b'0'))
}

/// Media types for which a head is prepared.
///
/// Limit: heads for further media types are assembled for each reply.
const TYPED_MAX: usize = 8;

impl ReplyParts {
    pub(super) fn new() -> Self {
        let mut parts = Self {
            ok_and_date: Vec::new(),
            typed: Vec::new(),
            date: [b' '; 29],
            second: u64::MAX,
            json_digits: 2,
            body: Vec::new(),
        };
        parts.set_second(0);
        parts
    }

    /// Keeps the date for the turn's second.
    #[inline]
    pub(super) fn set_second(&mut self, unix_seconds: u64) {
        if unix_seconds != self.second {
            self.second = unix_seconds;
            self.date = wire::http::date::format(unix_seconds);
            self.ok_and_date.clear();
            self.ok_and_date.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
            self.ok_and_date.extend_from_slice(&self.date);
            self.ok_and_date.extend_from_slice(b"\r\n");
            self.typed.clear();
        }
    }

    /// The head of a plain 200 with this media type, up to the number of its `Content-Length`.
    #[inline]
    fn typed_head(&mut self, content_type: &'static str) -> Option<&[u8]> {
        // The same literal has the same address, so comparing addresses is enough. A miss only costs a copy.
        let known = self.typed.iter().position(|(known, _)| std::ptr::eq(*known, content_type));
        let index = match known {
            Some(index) => index,
            None => self.prepare_typed(content_type)?,
        };
        self.typed.get(index).map(|(_, head)| head.as_slice())
    }

    #[cold]
    fn prepare_typed(&mut self, content_type: &'static str) -> Option<usize> {
        if self.typed.len() >= TYPED_MAX {
            return None;
        }
        let mut head = self.ok_and_date.clone();
        head.extend_from_slice(b"Content-Type: ");
        head.extend_from_slice(content_type.as_bytes());
        head.extend_from_slice(b"\r\nContent-Length: ");
        self.typed.push((content_type, head));
        Some(self.typed.len() - 1)
    }
}

/// One reply. Exactly one of its sending methods is called, once.
///
/// ```
/// use http::{Function, Http, Reply, Request, Settings, Status};
/// use world::Stage;
///
/// fn answer(request: &Request<'_>, reply: &mut Reply<'_>) {
///     match request.path() {
///         "/" => reply.text("hello"),
///         "/json" => reply.json(&[1, 2, 3]),
///         _ => reply.empty(Status::NOT_FOUND),
///     }
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Function(answer), Settings::default().into(), None));
/// let client = stage.connect();
/// let text = stage.exchange(client, "GET /json HTTP/1.1\r\nHost: a\r\n\r\n");
/// assert!(text.ends_with("\r\n\r\n[1,2,3]"), "{text}");
/// ```
pub struct Reply<'a> {
    pub(super) output: &'a mut Output,
    pub(super) parts: &'a mut ReplyParts,
    pub(super) version: Version,
    pub(super) body_use: BodyUse,
    pub(super) persistence: Persistence,
    pub(super) status: Option<Status>,
    /// Body bytes, for the log.
    pub(super) body_bytes: u64,
    /// The framing of its parts, if it is sent in parts.
    pub(super) framing: Option<StreamFraming>,
}

impl Reply<'_> {
    /// Sends a body with this media type.
    #[inline]
    pub fn send(&mut self, status: Status, content_type: &'static str, body: &[u8]) {
        self.begin_typed(status, content_type, body.len());
        self.end_head_after_field_name(body.len() as u64);
        if self.body_use == BodyUse::Send {
            self.output.put(body);
        }
    }

    /// Begins a head up to the number of its `Content-Length`, with room for this many bytes of body.
    #[inline]
    fn begin_typed(&mut self, status: Status, content_type: &'static str, room: usize) {
        if status == Status::OK
            && self.persistence == Persistence::Kept
            && let Some(head) = self.parts.typed_head(content_type)
        {
            debug_assert!(self.status.is_none(), "one reply to one request");
            self.status = Some(status);
            let out = self.output.buffer();
            out.reserve(head.len() + 24 + room);
            out.extend_from_slice(head);
            return;
        }
        self.begin(status);
        let out = self.output.buffer();
        out.extend_from_slice(b"Content-Type: ");
        out.extend_from_slice(content_type.as_bytes());
        out.extend_from_slice(b"\r\nContent-Length: ");
    }

    /// Sends text.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.send(Status::OK, "text/plain; charset=utf-8", text.as_bytes());
    }

    /// Serialises a value and sends it as JSON.
    ///
    /// A value that cannot be serialised (a map whose keys are not strings, or an error of its own) is answered
    /// with 500. That is a mistake of the program.
    #[inline]
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        let start = self.output.buffer().len();
        self.begin_typed(Status::OK, "application/json", 0);
        let digits = self.parts.json_digits;
        let out = self.output.buffer();
        let length_at = out.len();
        // The length is known only after the body. Usually it has as many digits as the last one.
        out.extend_from_slice(&[b'0'; LENGTH_DIGITS_MAX][..digits]);
        out.extend_from_slice(b"\r\n\r\n");
        let body_at = out.len();
        if json::write(value, out).is_err() {
            out.truncate(start);
            self.status = None;
            self.empty(Status::INTERNAL_SERVER_ERROR);
            return;
        }
        let length = out.len() - body_at;
        self.body_bytes = length as u64;
        if self.body_use == BodyUse::Omit {
            out.truncate(body_at);
        }
        if !put_number(&mut out[length_at..length_at + digits], length) {
            self.replace_length(length_at, digits, length);
        }
    }

    /// The length of a JSON body has more or fewer digits than were left for it.
    #[cold]
    fn replace_length(&mut self, at: usize, digits: usize, length: usize) {
        let mut number = itoa::Buffer::new();
        let number = number.format(length).as_bytes();
        self.output.buffer().splice(at..at + digits, number.iter().copied());
        self.parts.json_digits = number.len();
    }

    /// Sends a status without a body.
    pub fn empty(&mut self, status: Status) {
        self.begin(status);
        self.end_head_without_body(status);
    }

    /// Ends the head of a reply with this status and without a body. A length of 0 is written where a length is allowed (RFC 9112 section 6.3),
    /// because the body would otherwise last until the close.
    pub fn end_head_without_body(&mut self, status: Status) {
        if Self::has_length(status) {
            self.end_head_with_length(0);
        } else {
            self.end_head();
        }
    }

    /// Begins a head: status line, date, and the fields of the connection. Other fields follow, then one of the
    /// `end_head` methods, then the parts of the body.
    #[inline]
    pub fn begin(&mut self, status: Status) {
        debug_assert!(self.status.is_none(), "one reply to one request");
        self.status = Some(status);
        let out = self.output.buffer();
        if status == Status::OK {
            out.extend_from_slice(&self.parts.ok_and_date);
        } else {
            let mut head = HeadWriter::begin(out, self.version, status);
            head.date(&self.parts.date);
        }
        match self.persistence {
            Persistence::Kept => {}
            Persistence::KeptAlive => self.output.put(b"Connection: keep-alive\r\n"),
            Persistence::Closed => self.output.put(b"Connection: close\r\n"),
        }
    }

    /// Begins the head that changes the connection to another protocol: 101 (RFC 9110 section 7.8). Fields of the protocol
    /// follow, then [`end_head`](Self::end_head), and [`Answer::Upgrade`](crate::Answer::Upgrade).
    ///
    /// `false`: the connection cannot change, and nothing was written. The client speaks HTTP/1.0, or this request is the last of
    /// its connection.
    #[must_use]
    pub fn switch_protocols(&mut self, protocol: &str) -> bool {
        if self.version != Version::Http11 || self.persistence != Persistence::Kept {
            return false;
        }
        self.begin(Status::SWITCHING_PROTOCOLS);
        self.output.put(b"Connection: upgrade\r\n");
        self.field("Upgrade", protocol.as_bytes()).is_ok()
    }

    /// Adds a field.
    ///
    /// # Errors
    /// If the name or value cannot be in a head (RFC 9110 section 5.5). Then nothing was written.
    pub fn field(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidField> {
        append_field(self.output.buffer(), name, value)
    }

    /// Adds prepared field lines, each with its line end.
    #[inline]
    pub fn prepared_fields(&mut self, lines: &[u8]) {
        self.output.put(lines);
    }

    /// Ends the head of a reply whose body has this many bytes.
    #[inline]
    pub fn end_head_with_length(&mut self, length: u64) {
        self.output.put(b"Content-Length: ");
        self.end_head_after_field_name(length);
    }

    #[inline]
    fn end_head_after_field_name(&mut self, length: u64) {
        self.body_bytes = length;
        let out = self.output.buffer();
        out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// Ends the head of a reply whose length is already among the prepared fields, or which has none.
    #[inline]
    pub fn end_head_of_length(&mut self, length: u64) {
        self.body_bytes = length;
        self.end_head();
    }

    /// Ends the head of a reply without a length: 1xx, 204, 304, or a stream.
    #[inline]
    pub fn end_head(&mut self) {
        self.output.put(b"\r\n");
    }

    /// Whether the body is sent; `false` for HEAD.
    pub fn sends_body(&self) -> bool {
        self.body_use == BodyUse::Send
    }

    /// Adds body bytes after the head.
    #[inline]
    pub fn body(&mut self, bytes: &[u8]) {
        if self.sends_body() {
            self.output.put(bytes);
        }
    }

    /// Adds shared body bytes after the head.
    pub fn body_shared(&mut self, shared: SharedBytes) {
        if self.sends_body() {
            self.output.put_shared(shared);
        }
    }

    /// Adds a region of a file after the head.
    pub fn body_file(&mut self, region: FileRegion) {
        if self.sends_body() {
            self.output.put_file(region);
        }
    }

    /// Closes the connection after this reply. Must be called before the head is begun.
    pub fn close(&mut self) {
        self.persistence = Persistence::Closed;
    }

    /// RFC 9110 section 8.6: no length in 1xx and 204, nor in 304, which has no representation to measure.
    pub(super) fn has_length(status: Status) -> bool {
        !(status.code() < 200 || status == Status::NO_CONTENT || status == Status::NOT_MODIFIED)
    }
}
