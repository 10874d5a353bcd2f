//! The streams of a connection, by their numbers and by their names in the runtime.
//!
//! Owns what the engine keeps of each open stream, and which numbers mean closed ones (RFC 9113, 5.1). Never sends.

use runtime::streams::StreamId;

use super::content::InputSide;
use super::held::Held;
use crate::limits::{H2_CLOSED_KEPT, H2_CLOSED_KEPT_IDLE};

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
    number: u32,
    id: StreamId,
    held: Held,
}

impl Open {
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Its name in the runtime.
    pub(super) fn id(&self) -> StreamId {
        self.id
    }

    /// The part of it that the connection keeps.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    pub(super) fn held_mut(&mut self) -> &mut Held {
        &mut self.held
    }
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
    pub(super) fn insert(&mut self, number: u32, id: StreamId, held: Held) {
        let open = Open { number, id, held };
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
    pub(super) fn remove(&mut self, place: usize) -> Option<Open> {
        let open = self.open.get_mut(place)?.take()?;
        self.numbers[place] = 0;
        self.free.push(place);
        self.note_closed(open.number, open.held.content().side());
        Some(open)
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
