//! The content of one request: how much may come, has come, and is held.
//!
//! Owns these counts, and the errors of a client that sends more than it may or another length than it has said. Never
//! sees the bytes.

use wire::h2::{AfterHead, ErrorCode};

use super::window::ContentWindow;
use crate::limits::{H2_GRANT_BYTES, H2_PASSING_BYTES};

/// Whether a client sends more on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputSide {
    Open,
    Ended,
}

/// Content that a DATA frame brings. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataFrame<'c> {
    pub(crate) bytes: &'c [u8],
    /// Bytes that windows count: padding as well.
    pub(crate) flow_bytes: u32,
    pub(crate) after: InputSide,
}

impl DataFrame<'_> {
    /// Whether it is the last one.
    pub(crate) fn is_last(&self) -> bool {
        self.after == InputSide::Ended
    }
}

/// Bytes of content that the server holds for a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldContent {
    /// Its process has not consumed them.
    unread: usize,
    /// Its process has consumed them, and keeps them.
    kept: usize,
}

impl HeldContent {
    pub(crate) fn unread(self) -> usize {
        self.unread
    }

    pub(crate) fn kept(self) -> usize {
        self.kept
    }
}

/// The content of the request on one stream.
#[derive(Debug)]
pub(crate) struct RequestContent {
    window: ContentWindow,
    side: InputSide,
    /// Bytes that have not come, if the head says how many there are.
    announced: Option<u64>,
    received: usize,
    held: HeldContent,
}

impl RequestContent {
    /// The content behind a head. The client may send so many bytes.
    pub(crate) fn new(after: AfterHead, window_bytes: u32) -> Self {
        let side = match after {
            AfterHead::Nothing => InputSide::Ended,
            AfterHead::Content => InputSide::Open,
        };
        let (window, held) = (ContentWindow::of(window_bytes), HeldContent::default());
        Self { window, side, announced: None, received: 0, held }
    }

    /// The head says how many bytes come.
    pub(crate) fn announce(&mut self, bytes: u64) {
        self.announced = Some(bytes);
    }

    /// Counts what a frame brings. An error is one of the stream (RFC 9113, 5.1, 6.9 and 8.1.1).
    pub(crate) fn take(&mut self, frame: &DataFrame<'_>) -> Result<(), ErrorCode> {
        if self.side == InputSide::Ended {
            return Err(ErrorCode::StreamClosed);
        }
        self.window.take(frame.flow_bytes).map_err(|_| ErrorCode::FlowControlError)?;
        if let Some(left) = &mut self.announced {
            let after = left.checked_sub(frame.bytes.len() as u64);
            *left = after.ok_or(ErrorCode::ProtocolError)?;
        }
        if frame.is_last() { self.end() } else { Ok(()) }
    }

    /// The client sends no more. An error if its head has announced more.
    pub(crate) fn end(&mut self) -> Result<(), ErrorCode> {
        if self.announced.is_some_and(|left| left > 0) {
            return Err(ErrorCode::ProtocolError);
        }
        self.side = InputSide::Ended;
        Ok(())
    }

    /// Whether the client may send more.
    pub(crate) fn is_open(&self) -> bool {
        self.side == InputSide::Open
    }

    /// The client's knowledge of the end.
    pub(crate) fn side(&self) -> InputSide {
        self.side
    }

    pub(crate) fn set_side(&mut self, side: InputSide) {
        self.side = side;
    }

    /// So many bytes were handed to the process of the stream.
    pub(crate) fn note_handed(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes);
        self.held.unread += bytes;
    }

    /// The process has consumed so many, and so much of its memory holds content now.
    pub(crate) fn note_read(&mut self, consumed: usize, memory: usize) {
        self.held.unread = self.held.unread.saturating_sub(consumed);
        // Memory that is there for more than has come is not what the client has sent.
        self.held.kept = memory.min(self.received - self.held.unread);
    }

    pub(crate) fn held(&self) -> HeldContent {
        self.held
    }

    /// Whether the process keeps most of what comes, until all of it is there.
    pub(crate) fn is_collected(&self) -> bool {
        self.held.kept > self.received / 2
    }

    /// Bytes that the client may send now.
    pub(crate) fn room(&self) -> usize {
        self.window.room()
    }

    /// All windows of the connection become larger or smaller (RFC 9113, 6.9.2).
    pub(crate) fn change_window(&mut self, by: i64) {
        self.window.change(by);
    }

    /// Opens the window so that the client may have at most so many bytes on the way, if that is due. Returns the step.
    pub(crate) fn open_window(&mut self, most: usize) -> Option<u32> {
        if self.side == InputSide::Ended {
            return None;
        }
        self.window.open(most.saturating_sub(self.held.unread))
    }

    /// How much the client may have on the way of a room of so many bytes, of which others have taken a part; `None`:
    /// nothing more.
    pub(crate) fn share_of(&self, whole: usize, taken: usize) -> Option<usize> {
        if taken + self.wanted(H2_GRANT_BYTES) <= whole + self.room() {
            return Some(H2_GRANT_BYTES);
        }
        // A body that is passed on waits for nothing that is told.
        let is_passing = self.held.unread == 0 && !self.is_collected();
        (is_passing && self.room() == 0).then_some(H2_PASSING_BYTES)
    }

    /// The most bytes that are worth a place, of so many: no more than have to come.
    pub(crate) fn wanted(&self, most: usize) -> usize {
        match self.announced {
            Some(left) => most.min(usize::try_from(left).unwrap_or(usize::MAX)),
            None => most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(content: &mut RequestContent, bytes: &[u8]) -> Result<(), ErrorCode> {
        let flow_bytes = bytes.len() as u32;
        content.take(&DataFrame { bytes, flow_bytes, after: InputSide::Open })?;
        content.note_handed(bytes.len());
        Ok(())
    }

    #[test]
    fn a_body_that_is_passed_on_gets_something_of_a_room_that_is_full() {
        let full = |content: &RequestContent| content.share_of(1_000, 1_000);
        let mut content = RequestContent::new(AfterHead::Content, 0);
        assert_eq!(content.share_of(2 * H2_GRANT_BYTES, 0), Some(H2_GRANT_BYTES));
        assert_eq!(full(&content), Some(H2_PASSING_BYTES), "nothing of it has come");
        assert_eq!(content.open_window(H2_PASSING_BYTES), Some(H2_PASSING_BYTES as u32));
        assert_eq!(full(&content), None, "it is on the way");
        taken(&mut content, &[0; H2_PASSING_BYTES]).unwrap();
        assert_eq!(full(&content), None, "it was not read");
        content.note_read(H2_PASSING_BYTES, H2_PASSING_BYTES);
        assert_eq!(full(&content), None, "it is collected: it waits for its turn");
        content.note_read(0, H2_PASSING_BYTES / 2);
        assert_eq!(full(&content), Some(H2_PASSING_BYTES));
    }

    #[test]
    fn content_is_held_until_it_was_read_and_is_not_kept() {
        let mut content = RequestContent::new(AfterHead::Content, 100);
        taken(&mut content, &[0; 60]).unwrap();
        assert_eq!(content.held(), HeldContent { unread: 60, kept: 0 });
        content.note_read(50, 4_000);
        assert_eq!(content.held(), HeldContent { unread: 10, kept: 50 });
        assert!(content.is_collected());
        content.note_read(10, 20);
        assert_eq!(content.held(), HeldContent { unread: 0, kept: 20 });
        assert!(!content.is_collected());
        assert_eq!(taken(&mut content, &[0; 41]), Err(ErrorCode::FlowControlError));
    }

    #[test]
    fn a_length_that_lies_is_an_error_of_the_stream() {
        let mut content = RequestContent::new(AfterHead::Content, 100);
        content.announce(10);
        taken(&mut content, &[0; 9]).unwrap();
        assert_eq!((content.wanted(50), content.end()), (1, Err(ErrorCode::ProtocolError)));
        assert_eq!(taken(&mut content, &[0; 2]), Err(ErrorCode::ProtocolError));
    }
}
