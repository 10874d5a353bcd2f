//! One stream of HTTP/2: a request and its answer.
//!
//! Owns the content that is still to be sent, the windows of the stream, and what has come of the answer. Says which
//! answers break a rule; whether one is as expected is the plan's check.

use wire::h2::{AfterFrame, H2ResponseHead, write_data_head};

use crate::client::pending::Pending;
use crate::limits::STREAM_WINDOW_BYTES;
use crate::plan::{AnswerBody, AnswerCheck, BodyCheck, BodyProgress};

/// Why an answer cannot be right.
type Wrong = String;

/// A request and its answer.
#[derive(Debug)]
pub(in crate::client) struct Stream {
    number: u32,
    has_ended: bool,
    pending: Pending,
    asked: AnswerBody,
    /// The status of the final head; 0 before it.
    status: u16,
    /// How long the content is to be, if the server said so.
    length: Option<u64>,
    /// Bytes of content so far.
    bytes: u64,
    body: BodyProgress,
    /// Bytes of content that the server takes on this stream.
    window: i64,
    /// Bytes of content since we last enlarged the server's window of this stream.
    unacknowledged: u32,
    /// Content of the request that is still to be sent.
    unsent: Vec<u8>,
}

impl Stream {
    pub(super) fn new(number: u32, pending: Pending, asked: AnswerBody, window: u32) -> Self {
        Self {
            number,
            has_ended: false,
            pending,
            asked,
            status: 0,
            length: None,
            bytes: 0,
            body: BodyProgress::default(),
            window: window.into(),
            unacknowledged: 0,
            unsent: Vec::new(),
        }
    }

    /// The same with this content to send.
    pub(super) fn with_content(mut self, content: &[u8]) -> Self {
        self.unsent.extend_from_slice(content);
        self
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn pending(&self) -> &Pending {
        &self.pending
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// It ends: nothing of it is needed any more but its number.
    pub(super) fn end(&mut self) -> Pending {
        self.has_ended = true;
        self.unsent = Vec::new();
        self.body = BodyProgress::default();
        self.pending
    }

    /// Whether content of the request is still to be sent.
    pub(in crate::client) fn is_sending(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends a piece of content of at most `room` bytes; the result is how many, 0 if a window has no room.
    pub(super) fn send_content(&mut self, room: i64, out: &mut Vec<u8>) -> i64 {
        // Not more than a frame has.
        let size = (room.min(self.window).max(0) as usize).min(self.unsent.len());
        if size > 0 {
            let is_last = size == self.unsent.len();
            let after = if is_last { AfterFrame::Nothing } else { AfterFrame::More };
            write_data_head(self.number, size as u32, after, out);
            out.extend_from_slice(&self.unsent[..size]);
            self.unsent.drain(..size);
            self.window -= size as i64;
        }
        size as i64
    }

    /// The server takes this much more content, or less if it is negative; the result is how much it takes now.
    pub(super) fn enlarge(&mut self, increment: i64) -> i64 {
        self.window += increment;
        self.window
    }

    /// Content came; the result is by how much the server's window of the stream is to be enlarged.
    pub(super) fn acknowledge(&mut self, bytes: u32) -> u32 {
        used_up(&mut self.unacknowledged, bytes)
    }

    /// Whether the final head has come.
    pub(in crate::client) fn has_head(&self) -> bool {
        self.status != 0
    }

    /// A head has come, which may be an interim one.
    pub(in crate::client) fn take_head(&mut self, head: &H2ResponseHead) {
        if head.status >= 200 {
            (self.status, self.length) = (head.status, head.length);
        }
    }

    /// A piece of content has come.
    pub(in crate::client) fn add_content(
        &mut self,
        content: &[u8],
        check: &BodyCheck,
    ) -> Result<(), Wrong> {
        if self.status == 0 {
            return Err("content comes before its head".to_owned());
        }
        self.bytes += content.len() as u64;
        if self.bytes > 0 && (self.asked == AnswerBody::Never || self.status == 204) {
            return Err("an answer that has no content has some".to_owned());
        }
        if self.length.is_some_and(|length| self.bytes > length) {
            return Err("the content is longer than its content-length".to_owned());
        }
        if !content.is_empty() {
            check.take(&mut self.body, content);
        }
        Ok(())
    }

    /// The answer is whole: why it may not be.
    pub(in crate::client) fn check_length(&self) -> Result<(), Wrong> {
        let has_content = self.asked == AnswerBody::AsFramed && self.status != 304;
        match self.length.filter(|length| has_content && *length != self.bytes) {
            Some(length) => {
                Err(format!("{} bytes came, and its content-length is {length}", self.bytes))
            }
            None => Ok(()),
        }
    }

    /// Whether the status of an answer that is whole is as expected.
    pub(in crate::client) fn has_expected_status(&self, check: &AnswerCheck) -> bool {
        check.status.contains(self.status)
    }

    /// Whether its content is.
    pub(in crate::client) fn has_expected_content(&mut self, check: &AnswerCheck) -> bool {
        let body_is_right = check.body.finish(&mut self.body);
        body_is_right && check.length.is_none_or(|length| length == self.bytes)
    }
}

/// Adds bytes of content to those for which the server's window was not enlarged. The result is by how much it is to
/// be.
pub(super) fn used_up(unacknowledged: &mut u32, bytes: u32) -> u32 {
    *unacknowledged += bytes;
    if *unacknowledged >= STREAM_WINDOW_BYTES / 2 { std::mem::take(unacknowledged) } else { 0 }
}
