//! The streams of a connection, by their numbers and by their names in the runtime.
//!
//! Owns what the engine keeps of each open stream, which of them wait to send, and which numbers mean closed ones
//! (RFC 9113, 5.1). Never sends.

use runtime::streams::StreamId;
use wire::h2::StreamPriority;

use super::content::InputSide;
use super::held::Held;
use super::order::SendQueue;
use crate::limits::{
    H2_CLOSED_KEPT, H2_CLOSED_KEPT_IDLE, H2_SPARE_ROOM_STREAMS, H2_SPARE_ROOMS, H2_UNREAD_STREAMS,
};

/// The meaning of a stream's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
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
    ending: ClosedAs,
}

/// The client's knowledge of the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClosedAs {
    /// The client knows.
    Known,
    /// It was told, but may not have read that yet.
    Told,
    /// It has its answer, and was not told that nobody reads what it still sends.
    Unread,
}

impl From<InputSide> for ClosedAs {
    fn from(input: InputSide) -> Self {
        match input {
            InputSide::Open => Self::Told,
            InputSide::Ended => Self::Known,
        }
    }
}

impl Closed {
    fn is_unread(&self) -> bool {
        self.ending == ClosedAs::Unread
    }
}

/// An open stream, its number and its name in the runtime.
#[derive(Debug)]
pub(crate) struct Open {
    number: u32,
    id: StreamId,
    held: Held,
}

impl Open {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Its name in the runtime.
    pub(crate) fn id(&self) -> StreamId {
        self.id
    }

    /// The part of it that the connection keeps.
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    pub(crate) fn held_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

/// The room for open streams. Each stream has a place, which is the tag of its name in the runtime.
#[derive(Debug, Default)]
pub(crate) struct StreamRoom {
    open: Vec<Option<Open>>,
    /// The numbers of the streams, by place; 0 where there is none.
    numbers: Vec<u32>,
    free: Vec<usize>,
    /// The places of those that may have something to send.
    queue: SendQueue,
}

/// Rooms that no connection needs now.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "a box moves from a connection to this list, and back")]
pub(crate) struct SpareRooms(Vec<Box<StreamRoom>>);

/// All streams of a connection.
#[derive(Debug, Default)]
pub(crate) struct StreamTable {
    /// Lent by the scheduler while a stream is open, so that a connection at rest has none.
    room: Option<Box<StreamRoom>>,
    /// The last number of a stream.
    last: u32,
    /// The last streams that were closed, as a ring.
    closed: Vec<Closed>,
    closed_next: usize,
}

impl StreamTable {
    /// Takes room for streams, if it has none.
    pub(crate) fn take_room(&mut self, spare: &mut SpareRooms) {
        if self.room.is_none() {
            self.room = spare.0.pop();
        }
    }

    /// Gives back the room, while no stream is open.
    pub(crate) fn give_room_back(&mut self, spare: &mut SpareRooms) {
        if self.is_empty()
            && let Some(mut room) = self.room.take()
            && spare.0.len() < H2_SPARE_ROOMS
            && room.open.capacity() <= H2_SPARE_ROOM_STREAMS
        {
            room.clear();
            spare.0.push(room);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.room.as_ref().map_or(0, |room| room.open.len() - room.free.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last number of a stream.
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// A client begins a stream with this number.
    pub(crate) fn note_begun(&mut self, number: u32) {
        self.last = number;
    }

    /// The place of the next stream.
    pub(crate) fn next_place(&self) -> usize {
        self.room.as_ref().map_or(0, |room| room.next_place())
    }

    /// Keeps a stream at the next place.
    pub(crate) fn insert(&mut self, number: u32, id: StreamId, held: Held) {
        self.room.get_or_insert_default().insert(Open { number, id, held });
    }

    /// The meaning of a number.
    pub(crate) fn known(&self, number: u32) -> Known {
        if number > self.last || number.is_multiple_of(2) {
            return Known::Idle;
        }
        if let Some(place) = self.room.as_ref().and_then(|room| room.place_of(number)) {
            return Known::Open(place);
        }
        match self.closed.iter().find(|closed| closed.number == number) {
            Some(Closed { ending: ClosedAs::Told | ClosedAs::Unread, .. }) => Known::Late,
            Some(Closed { ending: ClosedAs::Known, .. }) => Known::Closed,
            None => Known::Skipped,
        }
    }

    /// The stream at a place.
    #[inline]
    pub(crate) fn at(&mut self, place: usize) -> Option<&mut Open> {
        self.room.as_mut()?.open.get_mut(place)?.as_mut()
    }

    /// The place of a stream by its name.
    #[inline]
    pub(crate) fn place_of(&self, id: StreamId) -> Option<usize> {
        let place = id.tag() as usize;
        let open = self.room.as_ref()?.open.get(place)?.as_ref()?;
        (open.id == id).then_some(place)
    }

    /// Forgets a stream that has ended.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Open> {
        let open = self.room.as_mut()?.remove(place)?;
        self.note_closed(open.number, open.held.content().side());
        Some(open)
    }

    /// The stream with this number is closed. If its input is open, the client may not know that yet.
    pub(crate) fn note_closed(&mut self, number: u32, input: InputSide) {
        // There are fewer of those than places.
        while self.closed.get(self.closed_next).is_some_and(Closed::is_unread) {
            self.closed_next = (self.closed_next + 1) % H2_CLOSED_KEPT;
        }
        let closed = Closed { number, ending: input.into() };
        match self.closed.get_mut(self.closed_next) {
            Some(place) => *place = closed,
            None => self.closed.push(closed),
        }
        self.closed_next = (self.closed_next + 1) % H2_CLOSED_KEPT;
    }

    /// The client has closed a stream itself, if it did not know before that it is closed.
    pub(crate) fn note_known(&mut self, number: u32) {
        self.note_ending(number, ClosedAs::Known);
    }

    /// The client is not told of the end of this stream before [`Self::take_unread`]. `false`: it has to be now.
    pub(crate) fn note_unread(&mut self, number: u32) -> bool {
        let unread = self.closed.iter().filter(|closed| closed.is_unread()).count();
        let is_kept = unread < H2_UNREAD_STREAMS;
        if is_kept {
            self.note_ending(number, ClosedAs::Unread);
        }
        is_kept
    }

    fn note_ending(&mut self, number: u32, ending: ClosedAs) {
        for closed in self.closed.iter_mut().filter(|closed| closed.number == number) {
            closed.ending = ending;
        }
    }

    /// Whether there is a stream of whose end the client has to be told.
    pub(crate) fn has_unread(&self) -> bool {
        self.closed.iter().any(Closed::is_unread)
    }

    /// The streams of whose end the client is told now.
    pub(crate) fn take_unread(&mut self) -> impl Iterator<Item = u32> {
        self.closed.iter_mut().filter(|closed| closed.is_unread()).map(|closed| {
            closed.ending = ClosedAs::Told;
            closed.number
        })
    }

    /// All open streams, with their places.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = (usize, &mut Open)> {
        let open = self.room.as_mut().map(|room| room.open.iter_mut()).into_iter().flatten();
        open.enumerate().filter_map(|(place, open)| Some((place, open.as_mut()?)))
    }

    /// Forgets all streams.
    pub(crate) fn clear(&mut self) {
        self.room = None;
    }

    /// Gives memory back while no stream is open.
    pub(crate) fn shrink(&mut self) {
        let mut closed = std::mem::take(&mut self.closed);
        closed.retain(|closed| closed.ending != ClosedAs::Known);
        closed.truncate(H2_CLOSED_KEPT_IDLE);
        closed.shrink_to_fit();
        self.closed_next = closed.len() % H2_CLOSED_KEPT;
        self.closed = closed;
    }
}

/// The streams that wait to send.
impl StreamTable {
    /// Whether one waits.
    pub(crate) fn has_waiting(&self) -> bool {
        self.room.as_ref().is_some_and(|room| !room.queue.is_empty())
    }

    /// The stream that is next, which waits no longer.
    pub(crate) fn next_waiting(&mut self) -> Option<usize> {
        loop {
            let room = self.room.as_mut()?;
            let place = room.queue.pop()?;
            if let Some(open) = self.at(place) {
                open.held.leave_queue();
                return Some(place);
            }
        }
    }

    /// A stream waits, behind those that are as urgent.
    pub(crate) fn wait(&mut self, place: usize) {
        self.wait_by(place, SendQueue::push);
    }

    /// A stream waits, before those that are as urgent: it goes on.
    pub(crate) fn wait_first(&mut self, place: usize) {
        self.wait_by(place, SendQueue::push_first);
    }

    fn wait_by(&mut self, place: usize, push: fn(&mut SendQueue, usize, StreamPriority)) {
        let Some(room) = self.room.as_mut() else { return };
        if let Some(Some(open)) = room.open.get_mut(place)
            && open.held.enter_queue()
        {
            push(&mut room.queue, place, open.held.priority());
        }
    }

    /// All of these streams wait, in any order.
    pub(crate) fn wait_all(&mut self, mut these: impl FnMut(&mut Held) -> bool) {
        for place in 0..self.room.as_ref().map_or(0, |room| room.open.len()) {
            if self.at(place).is_some_and(|open| these(&mut open.held)) {
                self.wait(place);
            }
        }
    }

    /// The streams that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Open> {
        let rooms = self.room.iter();
        rooms
            .flat_map(|room| room.queue.places().filter_map(|place| room.open.get(place)?.as_ref()))
    }
}

impl StreamRoom {
    fn next_place(&self) -> usize {
        self.free.last().copied().unwrap_or(self.open.len())
    }

    fn insert(&mut self, open: Open) {
        match self.free.pop() {
            Some(place) => {
                self.numbers[place] = open.number;
                self.open[place] = Some(open);
            }
            None => {
                self.numbers.push(open.number);
                self.open.push(Some(open));
            }
        }
    }

    fn place_of(&self, number: u32) -> Option<usize> {
        self.numbers.iter().position(|other| *other == number)
    }

    fn remove(&mut self, place: usize) -> Option<Open> {
        let open = self.open.get_mut(place)?.take()?;
        self.numbers[place] = 0;
        self.free.push(place);
        Some(open)
    }

    fn clear(&mut self) {
        self.open.clear();
        self.numbers.clear();
        self.free.clear();
        self.queue.clear();
    }
}
