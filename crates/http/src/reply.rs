//! A reply: status, header fields, body.
//!
//! Owns the steps of a reply, in which an application says what is answered; and that HEAD gets the fields of GET
//! without the body. How it looks is a matter of its `encoder`. `body_writer` handles bodies of unknown length. The
//! plain path copies a few prepared pieces and allocates nothing.

mod passing;

use runtime::output::{FileRegion, Output, SharedBytes};
use serde::Serialize;
use wire::http::body::write_chunk;
use wire::http::fields::FieldList;
use wire::http::head::Fields;
use wire::http::method::Method;
use wire::http::response::InvalidField;
use wire::http::status::Status;

use super::begun::Begun;
use super::encoder::{Encoder, ReplyParts, has_length};
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

/// One reply. Exactly one of its sending methods is called, once.
///
/// ```
/// use http::{Function, Http, Reply, Request, HttpSettings, Status};
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
/// let mut stage = Stage::new(1, || Http::new(Function(answer), HttpSettings::default().into(), None));
/// let client = stage.connect();
/// let text = stage.exchange(client, "GET /json HTTP/1.1\r\nHost: a\r\n\r\n");
/// assert!(text.ends_with("\r\n\r\n[1,2,3]"), "{text}");
/// ```
pub struct Reply<'a> {
    output: &'a mut Output,
    parts: &'a mut ReplyParts,
    encoder: Encoder,
    body_use: BodyUse,
    status: Option<Status>,
    /// Body bytes, for the log.
    body_bytes: u64,
    /// The framing of its parts, if it is sent in parts.
    framing: Option<StreamFraming>,
}

impl<'a> Reply<'a> {
    /// A reply of which nothing was written, or the rest of one that was begun earlier.
    #[inline(always)]
    pub(super) fn new(
        output: &'a mut Output,
        parts: &'a mut ReplyParts,
        body_use: BodyUse,
        encoder: Encoder,
        begun: Option<Begun>,
    ) -> Self {
        Self {
            output,
            parts,
            encoder,
            body_use,
            status: begun.map(|begun| begun.status()),
            body_bytes: begun.map_or(0, |begun| begun.body_bytes()),
            framing: begun.and_then(|begun| begun.framing()),
        }
    }

    /// Sends a body with this media type.
    #[inline]
    pub fn send(&mut self, status: Status, content_type: &'static str, body: &[u8]) {
        if !self.begin_plain(status, content_type, body.len()) {
            return self.send_any(status, content_type, body);
        }
        self.end_plain(body.len() as u64);
        if self.body_use == BodyUse::Send {
            self.output.put(body);
        }
    }

    /// The same with any encoder.
    fn send_any(&mut self, status: Status, content_type: &'static str, body: &[u8]) {
        self.begin(status);
        self.put("Content-Type", content_type.as_bytes());
        self.end_head_with_length(body.len() as u64);
        self.body(body);
    }

    /// Copies a prepared head of HTTP/1, which ends before the number of its `Content-Length`, with room for this many
    /// bytes of body. `false`: no head is prepared for this reply, and nothing was written.
    #[inline(always)]
    fn begin_plain(&mut self, status: Status, content_type: &'static str, room: usize) -> bool {
        if status != Status::OK || !self.encoder.is_plain() {
            return false;
        }
        let Some(head) = self.parts.typed_head(content_type) else { return false };
        debug_assert!(self.status.is_none(), "one reply to one request");
        self.status = Some(status);
        let out = self.output.buffer();
        out.reserve(head.len() + 24 + room);
        out.extend_from_slice(head);
        true
    }

    /// Ends a head that was begun from a prepared one.
    #[inline]
    fn end_plain(&mut self, length: u64) {
        self.body_bytes = length;
        let out = self.output.buffer();
        out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
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
        if !self.begin_plain(Status::OK, "application/json", 0) {
            return self.json_any(value);
        }
        let digits = self.parts.json_digits();
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

    /// The same with any encoder: the body is written before its head.
    #[cold]
    fn json_any<T: Serialize + ?Sized>(&mut self, value: &T) {
        let mut body = self.parts.lend_body();
        match json::write(value, &mut body) {
            Ok(()) => self.send_any(Status::OK, "application/json", &body),
            Err(_) => self.empty(Status::INTERNAL_SERVER_ERROR),
        }
        self.parts.return_body(body);
    }

    /// The length of a JSON body has more or fewer digits than were left for it.
    #[cold]
    fn replace_length(&mut self, at: usize, digits: usize, length: usize) {
        let mut number = itoa::Buffer::new();
        let number = number.format(length).as_bytes();
        self.output.buffer().splice(at..at + digits, number.iter().copied());
        self.parts.set_json_digits(number.len());
    }

    /// Sends a status without a body.
    pub fn empty(&mut self, status: Status) {
        self.begin(status);
        self.end_head_without_body(status);
    }

    /// Ends the head of a reply with this status and without a body. A length of 0 is written where a length is allowed
    /// (RFC 9112 section 6.3), because the body would otherwise last until the close.
    pub fn end_head_without_body(&mut self, status: Status) {
        if has_length(status) {
            self.end_head_with_length(0);
        } else {
            self.end_head();
        }
    }

    /// Begins a head. Fields follow, then one of the `end_head` methods, then the parts of the body.
    #[inline]
    pub fn begin(&mut self, status: Status) {
        self.note_begun(status);
        self.encoder.begin(status, self.parts, self.output);
    }

    /// Begins the head that changes to another protocol: 101 on a connection (RFC 9110 section 7.8), 200 on a stream
    /// (RFC 8441 section 5). Fields of the protocol follow, then [`end_head`](Self::end_head), and
    /// [`Answer::Upgrade`](crate::Answer::Upgrade).
    ///
    /// `false`: nothing can change, and nothing was written. The client speaks HTTP/1.0, this request is the last of
    /// its connection, or it came on a stream and asks for no protocol.
    #[must_use]
    pub fn switch_protocols(&mut self, protocol: &str) -> bool {
        if !self.can_change() {
            return false;
        }
        self.begin(self.encoder.status_of_change());
        // These are about a connection: the head of a stream does without them.
        self.put("Connection", b"upgrade");
        self.field("Upgrade", protocol.as_bytes()).is_ok()
    }

    /// Adds a field.
    ///
    /// # Errors
    /// If the name or value cannot be in a head (RFC 9110 section 5.5). Then nothing was written.
    pub fn field(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidField> {
        self.encoder.field(name, value, self.parts, self.output)
    }

    /// Adds a field of this crate, which is valid.
    pub(super) fn put(&mut self, name: &'static str, value: &[u8]) {
        self.encoder.put(name, value, self.parts, self.output);
    }

    /// Adds the fields of a list.
    #[inline]
    pub fn fields(&mut self, fields: Fields<'_, '_>) {
        self.encoder.fields(fields, self.parts, self.output);
    }

    /// Ends the head of a reply whose body has this many bytes.
    #[inline]
    pub fn end_head_with_length(&mut self, length: u64) {
        self.put("Content-Length", itoa::Buffer::new().format(length).as_bytes());
        self.end_head_of_length(length);
    }

    /// Ends the head of a reply whose length is already among its fields, or which has none.
    #[inline]
    pub fn end_head_of_length(&mut self, length: u64) {
        self.body_bytes = length;
        self.end_head();
    }

    /// Ends the head of a reply without a length: 1xx, 204, 304, or a stream.
    #[inline]
    pub fn end_head(&mut self) {
        self.encoder.end(self.parts, self.output);
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

    /// Closes the connection after this reply. Must be called before the head is begun. A stream ends with its reply
    /// anyway.
    pub fn close(&mut self) {
        self.encoder.close();
    }

    /// Whether its head was written, in this call or an earlier one. Then only [`Reply::part`] may follow.
    #[inline]
    pub fn is_begun(&self) -> bool {
        self.status.is_some()
    }

    /// The status, if its head was written.
    #[inline]
    pub(super) fn status(&self) -> Option<Status> {
        self.status
    }

    /// The state of a reply of which only parts were written.
    #[inline]
    pub(super) fn begun(&self) -> Option<Begun> {
        let (framing, encoder, body_bytes) = (self.framing, self.encoder, self.body_bytes);
        self.status.map(|status| Begun::new(status, body_bytes, framing, encoder))
    }

    /// Begins the head of a body of unknown length, which is then written in parts.
    pub(super) fn begin_unmeasured(&mut self, status: Status) -> StreamFraming {
        self.note_begun(status);
        let framing = self.encoder.begin_unmeasured(status, self.parts, self.output);
        match self.body_use {
            BodyUse::Send => framing,
            BodyUse::Omit => StreamFraming::Omitted,
        }
    }

    /// Its head was begun with this status.
    #[inline]
    pub(super) fn note_begun(&mut self, status: Status) {
        debug_assert!(self.status.is_none(), "one reply to one request");
        self.status = Some(status);
    }

    /// The rest of the body follows in later calls, with this framing.
    pub(super) fn continue_later(&mut self, framing: StreamFraming) {
        self.framing = Some(framing);
    }

    /// The framing of a body that is sent in parts.
    #[inline]
    pub(super) fn framing(&self) -> Option<StreamFraming> {
        self.framing
    }

    /// The encoder.
    #[inline]
    pub(super) fn encoder(&self) -> Encoder {
        self.encoder
    }

    /// Body bytes so far.
    #[inline]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Adds part of a body of unknown length.
    pub(super) fn put_part(&mut self, framing: StreamFraming, bytes: &[u8]) {
        self.body_bytes += bytes.len() as u64;
        match framing {
            StreamFraming::Chunked => write_chunk(self.output.buffer(), bytes),
            StreamFraming::Omitted => {}
            _ => self.output.put(bytes),
        }
    }

    /// Ends such a body.
    pub(super) fn end_body(&mut self, framing: StreamFraming, trailers: &FieldList) {
        Encoder::end_parts(framing, trailers, self.parts, self.output);
    }
}
