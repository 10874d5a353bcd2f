//! The streams of a connection, by their numbers and by their names in the runtime.
//!
//! Owns what the engine keeps of each open stream, and which numbers mean closed ones (RFC 9113, 5.1). Never sends.

use runtime::streams::StreamId;
use wire::h2::{AfterHead, ErrorCode, StreamPriority};

use super::window::{InputWindow, OutputWindow};
use crate::limits::{H2_CLOSED_KEPT, H2_CLOSED_KEPT_IDLE, H2_STREAM_WINDOW_BYTES};

/// Whether a client sends more on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputSide {
    Open,
    Ended,
}

/// An open stream.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) output: OutputWindow,
    pub(super) input: InputWindow,
    /// Bytes that were handed to its process and not consumed.
    pub(super) unread: usize,
    /// Bytes of its body that have not come, if the head says how many there are.
    pub(super) announced: Option<u64>,
    /// Bytes of memory of its head.
    pub(super) head_bytes: usize,
    pub(super) priority: StreamPriority,
    pub(super) input_side: InputSide,
    /// Whether it is in the queue of those that may have something to send.
    pub(super) is_queued: bool,
    /// It has a body for which the connection's window has no room.
    pub(super) is_stalled: bool,
}

/// Content that a DATA frame brings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content<'c> {
    pub(super) bytes: &'c [u8],
    /// Bytes that windows count.
    pub(super) flow_bytes: u32,
    pub(super) end_stream: bool,
}

impl Held {
    /// A stream on which this follows the head of the request. The client takes so many bytes of its answer.
    pub(super) fn new(window_bytes: u32, after: AfterHead) -> Self {
        Self {
            output: OutputWindow::of(window_bytes),
            input: InputWindow::of(H2_STREAM_WINDOW_BYTES),
            unread: 0,
            announced: None,
            head_bytes: 0,
            priority: StreamPriority::default(),
            input_side: match after {
                AfterHead::Nothing => InputSide::Ended,
                AfterHead::Content => InputSide::Open,
            },
            is_queued: false,
            is_stalled: false,
        }
    }

    /// Counts content. An error is one of the stream (RFC 9113, 5.1, 6.9 and 8.1.1).
    pub(super) fn take(&mut self, content: &Content<'_>) -> Result<(), ErrorCode> {
        if self.input_side == InputSide::Ended {
            return Err(ErrorCode::StreamClosed);
        }
        self.input.take(content.flow_bytes).map_err(|_| ErrorCode::FlowControlError)?;
        if let Some(left) = &mut self.announced {
            let after = left.checked_sub(content.bytes.len() as u64);
            *left = after.ok_or(ErrorCode::ProtocolError)?;
        }
        if content.end_stream { self.end_input() } else { Ok(()) }
    }

    /// The client sends no more. An error if its head has announced more.
    pub(super) fn end_input(&mut self) -> Result<(), ErrorCode> {
        if self.announced.is_some_and(|left| left > 0) {
            return Err(ErrorCode::ProtocolError);
        }
        self.input_side = InputSide::Ended;
        Ok(())
    }
}

/// The meaning of a stream's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// No stream has had it yet.
    Idle,
    /// The stream at this place.
    Open(usize),
    /// A stream that this side has closed before the client knew: its frames are on their way.
    Late,
    /// A stream that the client knows to be closed.
    Closed,
    /// A number that was left out.
    Skipped,
}

#[derive(Clone, Copy, Debug)]
struct Closed {
    number: u32,
    /// Open: the client may not know yet.
    input: InputSide,
}

/// All streams of a connection.
#[derive(Debug, Default)]
pub(super) struct StreamTable {
    numbers: Vec<u32>,
    ids: Vec<StreamId>,
    held: Vec<Held>,
    /// The last number of a stream.
    last: u32,
    /// The last streams that were closed, as a ring.
    closed: Vec<Closed>,
    closed_next: usize,
}

impl StreamTable {
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The last number of a stream.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// A client begins a stream with this number.
    pub(super) fn note_begun(&mut self, number: u32) {
        self.last = number;
    }

    pub(super) fn insert(&mut self, number: u32, id: StreamId, held: Held) {
        self.numbers.push(number);
        self.ids.push(id);
        self.held.push(held);
    }

    /// The meaning of a number.
    pub(super) fn known(&self, number: u32) -> Known {
        if number > self.last || number.is_multiple_of(2) {
            return Known::Idle;
        }
        if let Some(place) = self.place(number) {
            return Known::Open(place);
        }
        match self.closed.iter().find(|closed| closed.number == number) {
            Some(Closed { input: InputSide::Open, .. }) => Known::Late,
            Some(Closed { input: InputSide::Ended, .. }) => Known::Closed,
            None => Known::Skipped,
        }
    }

    pub(super) fn place(&self, number: u32) -> Option<usize> {
        self.numbers.iter().position(|other| *other == number)
    }

    pub(super) fn number_of(&self, id: StreamId) -> Option<u32> {
        let place = self.ids.iter().position(|other| *other == id)?;
        self.numbers.get(place).copied()
    }

    pub(super) fn at(&mut self, place: usize) -> Option<(StreamId, &mut Held)> {
        Some((*self.ids.get(place)?, self.held.get_mut(place)?))
    }

    pub(super) fn of(&mut self, number: u32) -> Option<(StreamId, &mut Held)> {
        self.at(self.place(number)?)
    }

    /// Forgets a stream that has ended.
    pub(super) fn remove(&mut self, number: u32) -> Option<Held> {
        let place = self.place(number)?;
        self.numbers.swap_remove(place);
        self.ids.swap_remove(place);
        let held = self.held.swap_remove(place);
        self.note_closed(number, held.input_side);
        Some(held)
    }

    /// The stream with this number is closed. If its input is open, the client may not know that yet.
    pub(super) fn note_closed(&mut self, number: u32, input: InputSide) {
        let closed = Closed { number, input };
        match self.closed.get_mut(self.closed_next) {
            Some(place) => *place = closed,
            None => self.closed.push(closed),
        }
        self.closed_next = (self.closed_next + 1) % H2_CLOSED_KEPT;
    }

    /// The client has closed a stream itself, if it did not know before that it is closed.
    pub(super) fn note_known(&mut self, number: u32) {
        for closed in self.closed.iter_mut().filter(|closed| closed.number == number) {
            closed.input = InputSide::Ended;
        }
    }

    /// All open streams.
    pub(super) fn all(&mut self) -> impl Iterator<Item = (u32, &mut Held)> {
        self.numbers.iter().copied().zip(&mut self.held)
    }

    /// The names of all open streams.
    pub(super) fn ids(&self) -> &[StreamId] {
        &self.ids
    }

    /// Forgets all streams.
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.ids.clear();
        self.held.clear();
    }

    /// Gives room back while no stream is open.
    pub(super) fn shrink(&mut self) {
        if self.is_empty() {
            let mut closed = std::mem::take(&mut self.closed);
            closed.retain(|closed| closed.input == InputSide::Open);
            closed.truncate(H2_CLOSED_KEPT_IDLE);
            closed.shrink_to_fit();
            let closed_next = closed.len() % H2_CLOSED_KEPT;
            *self = Self { last: self.last, closed, closed_next, ..Self::default() };
        }
    }
}
