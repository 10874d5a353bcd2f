//! The streams of a connection, by their numbers and by their names in the runtime.
//!
//! Owns what the engine keeps of each open stream, and which numbers mean closed ones (RFC 9113, 5.1). Never sends.

use runtime::streams::StreamId;
use wire::h2::{AfterHead, ErrorCode, InputWindow, OutputWindow, StreamPriority};

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

/// An open stream, its number and its name in the runtime.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) number: u32,
    pub(super) id: StreamId,
    pub(super) held: Held,
}

/// All streams of a connection. Each has a place, which is the tag of its name in the runtime.
#[derive(Debug, Default)]
pub(super) struct StreamTable {
    open: Vec<Option<Open>>,
    /// The numbers of the streams, by place; 0 where there is none.
    numbers: Vec<u32>,
    free: Vec<usize>,
    /// The last number of a stream.
    last: u32,
    /// The last streams that were closed, as a ring.
    closed: Vec<Closed>,
    closed_next: usize,
}

impl StreamTable {
    pub(super) fn len(&self) -> usize {
        self.open.len() - self.free.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.len() == self.free.len()
    }

    /// The last number of a stream.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// A client begins a stream with this number.
    pub(super) fn note_begun(&mut self, number: u32) {
        self.last = number;
    }

    /// The place of the next stream.
    pub(super) fn next_place(&self) -> usize {
        self.free.last().copied().unwrap_or(self.open.len())
    }

    /// Keeps a stream at the next place.
    pub(super) fn insert(&mut self, open: Open) {
        let number = open.number;
        match self.free.pop() {
            Some(place) => {
                self.numbers[place] = number;
                self.open[place] = Some(open);
            }
            None => {
                self.numbers.push(number);
                self.open.push(Some(open));
            }
        }
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

    fn place(&self, number: u32) -> Option<usize> {
        self.numbers.iter().position(|other| *other == number)
    }

    /// The stream at a place.
    #[inline]
    pub(super) fn at(&mut self, place: usize) -> Option<&mut Open> {
        self.open.get_mut(place)?.as_mut()
    }

    /// The place of a stream by its name.
    #[inline]
    pub(super) fn place_of(&self, id: StreamId) -> Option<usize> {
        let place = id.tag() as usize;
        let open = self.open.get(place)?.as_ref()?;
        (open.id == id).then_some(place)
    }

    /// Forgets a stream that has ended.
    pub(super) fn remove(&mut self, place: usize) -> Option<Held> {
        let Open { number, held, .. } = self.open.get_mut(place)?.take()?;
        self.numbers[place] = 0;
        self.free.push(place);
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

    /// All open streams, with their places.
    pub(super) fn all(&mut self) -> impl Iterator<Item = (usize, &mut Open)> {
        let places = self.open.iter_mut().enumerate();
        places.filter_map(|(place, open)| Some((place, open.as_mut()?)))
    }

    /// Forgets all streams.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.numbers.clear();
        self.free.clear();
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
