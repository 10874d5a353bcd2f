//! Parts that the replies of one scheduler share.
//!
//! Owns the prepared pieces of heads, which change once a second, and the room for heads and bodies that are
//! assembled before they are written. Never writes into an output.

use wire::http::status::Status;

use super::block::BlockWriter;
use crate::limits::TYPED_HEADS_MAX;

/// The head of a plain 200, by media type.
#[derive(Debug)]
struct Typed {
    content_type: &'static str,
    head: Vec<u8>,
}

/// Prepared pieces of heads, and buffers.
#[derive(Debug)]
pub(crate) struct ReplyParts {
    /// `HTTP/1.1 200 OK`, `Date`, and line ends. The date is exact to the second.
    ok_and_date: Vec<u8>,
    /// The same, with `Content-Type` and the name of `Content-Length`, by media type.
    typed: Vec<Typed>,
    date: [u8; 29],
    second: u64,
    /// The number of digits in the length of the last JSON body.
    json_digits: usize,
    body: Vec<u8>,
    block: BlockWriter,
}

impl ReplyParts {
    pub(crate) fn new() -> Self {
        let mut parts = Self {
            ok_and_date: Vec::new(),
            typed: Vec::new(),
            date: [b' '; 29],
            second: u64::MAX,
            json_digits: 2,
            body: Vec::new(),
            block: BlockWriter::default(),
        };
        parts.set_second(0);
        parts
    }

    /// Keeps the date for the turn's second.
    #[inline]
    pub(crate) fn set_second(&mut self, unix_seconds: u64) {
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

    /// The head of a plain 200 of HTTP/1.1 with this media type, up to the number of its `Content-Length`.
    #[inline]
    pub(crate) fn typed_head(&mut self, content_type: &'static str) -> Option<&[u8]> {
        // The same literal has the same address, so comparing addresses is enough. A miss only costs a copy.
        let is_it = |known: &Typed| std::ptr::eq(known.content_type, content_type);
        let index = match self.typed.iter().position(is_it) {
            Some(index) => index,
            None => self.prepare_typed(content_type)?,
        };
        self.typed.get(index).map(|typed| typed.head.as_slice())
    }

    #[cold]
    fn prepare_typed(&mut self, content_type: &'static str) -> Option<usize> {
        if self.typed.len() >= TYPED_HEADS_MAX {
            return None;
        }
        let mut head = self.ok_and_date.clone();
        head.extend_from_slice(b"Content-Type: ");
        head.extend_from_slice(content_type.as_bytes());
        head.extend_from_slice(b"\r\nContent-Length: ");
        self.typed.push(Typed { content_type, head });
        Some(self.typed.len() - 1)
    }

    #[inline]
    pub(super) fn ok_and_date(&self) -> &[u8] {
        &self.ok_and_date
    }

    pub(super) fn date(&self) -> &[u8; 29] {
        &self.date
    }

    /// How many digits the length of the next JSON body probably has.
    #[inline]
    pub(crate) fn json_digits(&self) -> usize {
        self.json_digits
    }

    pub(crate) fn set_json_digits(&mut self, digits: usize) {
        self.json_digits = digits;
    }

    /// The head block that is being written.
    pub(super) fn block(&mut self) -> &mut BlockWriter {
        &mut self.block
    }

    pub(super) fn begin_block(&mut self, status: Status) {
        self.block.begin(status);
        self.block.put("Date", &self.date);
    }

    /// Lends an empty buffer for a body. It is given back with [`return_body`](Self::return_body).
    pub(crate) fn lend_body(&mut self) -> Vec<u8> {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        body
    }

    pub(crate) fn return_body(&mut self, body: Vec<u8>) {
        self.body = body;
    }
}
