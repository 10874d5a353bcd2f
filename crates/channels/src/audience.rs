//! The subscribers of one channel that receive the same bytes.
//!
//! Owns their seats and the bytes of this turn: messages are joined, so each subscriber gets one
//! piece. A subscriber that joins in the middle of a turn gets what is added afterwards. Never
//! knows a channel's rules.

use std::rc::Rc;

use runtime::post::Refused;
use runtime::service::ServiceContext;
use runtime::slots::ProcessId;

use crate::format::Format;
use crate::limits::KEPT_BUFFER_BYTES;
use crate::position::Position;

/// The place of a subscriber in its audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat(u32);

/// The state of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sitter {
    /// Free.
    Nobody,
    /// A subscriber that gets everything.
    Live(ProcessId),
    /// One that joined in this turn, when this many bytes were there already.
    Late(ProcessId, u32),
    /// One that waits for the channel's home, with the position it knows.
    Joining(ProcessId, Option<Position>),
    /// One that was too slow, and did not get this message and those after it.
    Behind(ProcessId, u64),
    /// One that will be disconnected, and gets nothing more.
    Over,
}

/// The subscribers of a channel with one format.
#[derive(Debug)]
pub(crate) struct Audience {
    pub(crate) format: Format,
    seats: Vec<Sitter>,
    free: Vec<u32>,
    /// Seats of subscribers that joined in this turn.
    late: Vec<u32>,
    /// The messages of this turn.
    bytes: Vec<u8>,
    messages: u32,
    /// The number of the first message of this turn.
    first: u64,
}

/// A subscriber that did not get the messages of a turn.
pub(crate) struct Slowed {
    pub(crate) seat: Seat,
    pub(crate) process: ProcessId,
    /// The first message that it did not get, and how many there were.
    pub(crate) first: u64,
    pub(crate) messages: u32,
}

impl Audience {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            seats: Vec::new(),
            free: Vec::new(),
            late: Vec::new(),
            bytes: Vec::new(),
            messages: 0,
            first: 0,
        }
    }

    /// The number of subscribers.
    pub(crate) fn len(&self) -> usize {
        self.seats.len() - self.free.len()
    }

    /// Bytes that wait for the end of the turn.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// A subscriber joins: it gets everything added from now on.
    pub(crate) fn join(&mut self, process: ProcessId) -> Seat {
        let sitter = self.coming(process);
        let seat = self.seat(sitter);
        self.note_late(seat);
        seat
    }

    /// A subscriber waits for the channel's home.
    pub(crate) fn wait(&mut self, process: ProcessId, since: Option<Position>) -> Seat {
        self.seat(Sitter::Joining(process, since))
    }

    fn seat(&mut self, sitter: Sitter) -> Seat {
        if let Some(free) = self.free.pop() {
            self.seats[free as usize] = sitter;
            return Seat(free);
        }
        self.seats.push(sitter);
        Seat(u32::try_from(self.seats.len() - 1).expect("slots are numbered in u32"))
    }

    fn coming(&self, process: ProcessId) -> Sitter {
        if self.bytes.is_empty() {
            return Sitter::Live(process);
        }
        Sitter::Late(process, u32::try_from(self.bytes.len()).unwrap_or(u32::MAX))
    }

    fn note_late(&mut self, seat: Seat) {
        if matches!(self.seats[seat.0 as usize], Sitter::Late(..)) {
            self.late.push(seat.0);
        }
    }

    /// A subscriber leaves.
    pub(crate) fn leave(&mut self, Seat(seat): Seat) {
        self.late.retain(|late| *late != seat);
        self.seats[seat as usize] = Sitter::Nobody;
        self.free.push(seat);
    }

    /// A subscriber will be disconnected: it gets nothing more.
    pub(crate) fn end(&mut self, Seat(seat): Seat) {
        self.seats[seat as usize] = Sitter::Over;
    }

    /// Whether a subscriber will be disconnected.
    pub(crate) fn is_over(&self, Seat(seat): Seat) -> bool {
        self.seats.get(seat as usize) == Some(&Sitter::Over)
    }

    /// A subscriber gets nothing until it has read what waits for it.
    pub(crate) fn fall_behind(&mut self, slowed: &Slowed) {
        self.seats[slowed.seat.0 as usize] = Sitter::Behind(slowed.process, slowed.first);
    }

    /// A subscriber that fell behind has read what waited for it: returns the number of the first message it did not get.
    pub(crate) fn behind(&self, Seat(seat): Seat) -> Option<(ProcessId, u64)> {
        match self.seats[seat as usize] {
            Sitter::Behind(process, first) => Some((process, first)),
            _ => None,
        }
    }

    /// It has been given what it missed.
    pub(crate) fn catch_up(&mut self, seat: Seat, process: ProcessId) {
        self.seats[seat.0 as usize] = self.coming(process);
        self.note_late(seat);
    }

    /// The channel's home has answered: returns the waiting subscribers, which now join.
    pub(crate) fn let_in(&mut self) -> Vec<(ProcessId, Option<Position>)> {
        let mut waited = Vec::new();
        for at in 0..self.seats.len() {
            if let Sitter::Joining(process, since) = self.seats[at] {
                self.seats[at] = self.coming(process);
                self.note_late(Seat(at as u32));
                waited.push((process, since));
            }
        }
        waited
    }

    /// Adds a message.
    pub(crate) fn put(&mut self, offset: u64, encode: impl FnOnce(Format, &mut Vec<u8>)) {
        if self.len() == 0 {
            return;
        }
        if self.messages == 0 {
            self.first = offset;
        }
        self.messages += 1;
        encode(self.format, &mut self.bytes);
    }

    /// Adds an event, which is not a message: it comes before the message with this number.
    pub(crate) fn put_event(&mut self, next: u64, encode: impl FnOnce(Format, &mut Vec<u8>)) {
        if self.len() == 0 {
            return;
        }
        if self.messages == 0 {
            self.first = next;
        }
        encode(self.format, &mut self.bytes);
    }

    /// Queues the messages for every subscriber at the end of the turn. Returns how many were queued, and which subscribers did not get them.
    pub(crate) fn send<M>(
        &mut self,
        context: &mut ServiceContext<'_, M>,
        bound: usize,
    ) -> (u64, Vec<Slowed>) {
        let (mut delivered, mut slowed) = (0, Vec::new());
        if self.bytes.is_empty() {
            return (delivered, slowed);
        }
        let (first, messages) = (self.first, self.messages);
        let bytes: Rc<[u8]> = self.bytes.as_slice().into();
        for (at, sitter) in self.seats.iter().enumerate() {
            let Sitter::Live(process) = *sitter else { continue };
            match context.queue(process, &bytes, bound) {
                Ok(()) => delivered += u64::from(messages),
                // Its end is about to be reported.
                Err(Refused::Gone) => {}
                Err(Refused::Behind) => {
                    slowed.push(Slowed { seat: Seat(at as u32), process, first, messages });
                }
            }
        }
        for late in std::mem::take(&mut self.late) {
            let Sitter::Late(process, from) = self.seats[late as usize] else { continue };
            self.seats[late as usize] = Sitter::Live(process);
            let rest = self.bytes.get(from as usize..).unwrap_or_default();
            if !rest.is_empty() && context.queue(process, &rest.into(), usize::MAX).is_ok() {
                delivered += 1;
            }
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BUFFER_BYTES);
        self.messages = 0;
        (delivered, slowed)
    }
}
