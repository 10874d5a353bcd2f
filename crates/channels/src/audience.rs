//! The subscribers of one channel that receive the same bytes.
//!
//! Owns their seats and the bytes of this turn: messages are joined, so each subscriber gets one
//! piece, unless it has to get messages of other audiences in between (`hub/ordering.rs`). A
//! subscriber that joins in the middle of a turn gets what is added afterwards. Never knows a
//! channel's rules.

use std::rc::Rc;

use ahash::HashSet;
use runtime::post::Refused;
use runtime::service::ServiceContext;
use runtime::slots::ProcessId;

use crate::format::Format;
use crate::limits::KEPT_BUFFER_BYTES;
use crate::position::Position;
use crate::seat::{Missed, Receiver, Seat, SeatState, Slowed};

/// The end of a message, or of an event, in the bytes of a turn.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Its place among all messages of the turn on this scheduler.
    order: u32,
    end: u32,
    /// The messages up to here.
    messages: u32,
}

/// The part of an audience's bytes that one message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) order: u32,
    pub(crate) begin: u32,
    pub(crate) end: u32,
    /// The messages before it, and with it.
    pub(crate) before: u32,
    pub(crate) after: u32,
}

/// The subscribers of a channel with one format.
#[derive(Debug)]
pub(crate) struct Audience {
    pub(crate) format: Format,
    seats: Vec<SeatState>,
    free: Vec<u32>,
    /// Seats of subscribers that joined in this turn.
    late: Vec<u32>,
    /// The messages of this turn.
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    messages: u32,
    /// The number of the first message of this turn.
    first: u64,
    /// The number behind that of the last one.
    next: u64,
    /// Where numbers are left out: the number of messages before it, and the number that follows.
    jumps: Vec<(u32, u64)>,
    /// Where all were told that messages are lost: the number of messages before it, and the number up to which.
    lost: Option<(u32, u64)>,
}

impl Audience {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            seats: Vec::new(),
            free: Vec::new(),
            late: Vec::new(),
            bytes: Vec::new(),
            marks: Vec::new(),
            messages: 0,
            first: 0,
            next: 0,
            jumps: Vec::new(),
            lost: None,
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
        let seat_state = self.coming(process);
        let seat = self.seat(seat_state);
        self.note_late(seat);
        seat
    }

    /// A subscriber waits for other schedulers.
    pub(crate) fn wait(&mut self, process: ProcessId, since: Option<Position>) -> Seat {
        self.seat(SeatState::Joining(process, since))
    }

    fn seat(&mut self, seat_state: SeatState) -> Seat {
        if let Some(free) = self.free.pop() {
            self.seats[free as usize] = seat_state;
            return Seat(free);
        }
        self.seats.push(seat_state);
        Seat(u32::try_from(self.seats.len() - 1).expect("slots are numbered in u32"))
    }

    fn coming(&self, process: ProcessId) -> SeatState {
        if self.bytes.is_empty() {
            return SeatState::Live(process);
        }
        SeatState::Late(process, u32::try_from(self.bytes.len()).unwrap_or(u32::MAX))
    }

    fn note_late(&mut self, seat: Seat) {
        if matches!(self.seats[seat.0 as usize], SeatState::Late(..)) {
            self.late.push(seat.0);
        }
    }

    /// A subscriber leaves.
    pub(crate) fn leave(&mut self, Seat(seat): Seat) {
        self.seats[seat as usize] = SeatState::Nobody;
        self.free.push(seat);
    }

    /// A subscriber will be disconnected: it gets nothing more.
    pub(crate) fn end(&mut self, Seat(seat): Seat) {
        self.seats[seat as usize] = SeatState::Over;
    }

    /// Whether a subscriber will be disconnected.
    pub(crate) fn is_over(&self, Seat(seat): Seat) -> bool {
        self.seats.get(seat as usize) == Some(&SeatState::Over)
    }

    /// A subscriber gets nothing until it has read what waits for it.
    pub(crate) fn fall_behind(&mut self, slowed: &Slowed) {
        self.seats[slowed.seat.0 as usize] = SeatState::Behind(slowed.process, slowed.missed);
    }

    /// A subscriber that fell behind has read what waited for it: returns what it did not get.
    pub(crate) fn behind(&self, Seat(seat): Seat) -> Option<(ProcessId, Missed)> {
        match self.seats[seat as usize] {
            SeatState::Behind(process, missed) => Some((process, missed)),
            _ => None,
        }
    }

    /// It has been given what it missed.
    pub(crate) fn catch_up(&mut self, seat: Seat, process: ProcessId) {
        self.seats[seat.0 as usize] = self.coming(process);
        self.note_late(seat);
    }

    /// The other schedulers have answered: returns the waiting subscribers that may join, which now do.
    pub(crate) fn let_in(
        &mut self,
        may_join: impl Fn(Option<Position>) -> bool,
    ) -> Vec<(ProcessId, Option<Position>)> {
        let mut waited = Vec::new();
        for at in 0..self.seats.len() {
            if let SeatState::Joining(process, since) = self.seats[at]
                && may_join(since)
            {
                self.seats[at] = self.coming(process);
                self.note_late(Seat(at as u32));
                waited.push((process, since));
            }
        }
        waited
    }

    /// Adds a message; `order` is its place among those of the turn.
    pub(crate) fn put(
        &mut self,
        order: u32,
        number: u64,
        encode: impl FnOnce(Format, &mut Vec<u8>),
    ) {
        if self.len() == 0 {
            return;
        }
        if self.messages == 0 {
            self.first = number;
        } else if number != self.next {
            self.jumps.push((self.messages, number));
        }
        self.next = number.wrapping_add(1);
        self.messages += 1;
        encode(self.format, &mut self.bytes);
        self.mark(order);
    }

    /// Adds an event, which is not a message: it comes before the message with this number.
    pub(crate) fn put_event(
        &mut self,
        order: u32,
        next: u64,
        encode: impl FnOnce(Format, &mut Vec<u8>),
    ) {
        if self.len() == 0 {
            return;
        }
        if self.messages == 0 {
            self.first = next;
        }
        encode(self.format, &mut self.bytes);
        self.mark(order);
    }

    /// Messages up to this number are lost, for all subscribers: adds that they are told so.
    pub(crate) fn put_lost(
        &mut self,
        order: u32,
        known: u64,
        encode: impl FnOnce(Format, &mut Vec<u8>),
    ) {
        for seat_state in &mut self.seats {
            if let SeatState::Behind(_, missed) = seat_state {
                *missed = Missed { first: known.saturating_add(1), is_lost: true };
            }
        }
        self.lost = Some((self.messages, known));
        self.put_event(order, known.saturating_add(1), encode);
    }

    /// The number of the message of this turn before which there are so many.
    fn number_of(&self, before: u32) -> u64 {
        let jump = self.jumps.iter().rev().find(|(at, _)| *at <= before);
        let (at, number) = jump.copied().unwrap_or((0, self.first));
        number.saturating_add(u64::from(before - at))
    }

    fn mark(&mut self, order: u32) {
        let end = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.marks.push(Mark { order, end, messages: self.messages });
    }

    /// The places of the first and the last message of the turn.
    pub(crate) fn span(&self) -> Option<(u32, u32)> {
        Some((self.marks.first()?.order, self.marks.last()?.order))
    }

    /// The messages of the turn, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> {
        let begins = std::iter::once((0, 0));
        let begins = begins.chain(self.marks.iter().map(|mark| (mark.end, mark.messages)));
        self.marks.iter().zip(begins).map(|(mark, (begin, before))| Part {
            order: mark.order,
            begin,
            end: mark.end,
            before,
            after: mark.messages,
        })
    }

    /// The subscribers that get something of this turn.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = Receiver> {
        self.seats.iter().enumerate().filter_map(|(at, seat_state)| {
            let seat = Seat(at as u32);
            match *seat_state {
                SeatState::Live(process) => Some(Receiver { process, seat, from: 0 }),
                SeatState::Late(process, from) => Some(Receiver { process, seat, from }),
                SeatState::Nobody
                | SeatState::Joining(..)
                | SeatState::Behind(..)
                | SeatState::Over => None,
            }
        })
    }

    /// The processes of these subscribers.
    pub(crate) fn processes(&self) -> impl Iterator<Item = ProcessId> {
        self.receivers().map(|receiver| receiver.process)
    }

    /// The number of subscribers that were too slow, and wait to catch up.
    pub(crate) fn behind_count(&self) -> usize {
        self.seats.iter().filter(|seat_state| matches!(seat_state, SeatState::Behind(..))).count()
    }

    /// The subscribers that wait for other schedulers.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = ProcessId> {
        self.seats.iter().filter_map(|seat_state| match seat_state {
            SeatState::Joining(process, _) => Some(*process),
            _ => None,
        })
    }

    /// The positions of those that wait.
    pub(crate) fn reaches(&self) -> impl Iterator<Item = Position> {
        self.seats.iter().filter_map(|seat_state| match seat_state {
            SeatState::Joining(_, since) => *since,
            _ => None,
        })
    }

    /// Whether a subscriber waits for other schedulers.
    pub(crate) fn is_joining(&self, Seat(seat): Seat) -> bool {
        matches!(self.seats.get(seat as usize), Some(SeatState::Joining(..)))
    }

    /// Bytes of the turn.
    pub(crate) fn cut(&self, begin: u32, end: u32) -> Rc<[u8]> {
        self.bytes.get(begin as usize..end as usize).unwrap_or_default().into()
    }

    /// A subscriber that did not get the messages behind this many.
    pub(crate) fn slowed(&self, receiver: Receiver, before: u32) -> Slowed {
        let Receiver { process, seat, .. } = receiver;
        let missed = match self.lost {
            Some((at, known)) if before <= at => {
                Missed { first: known.saturating_add(1), is_lost: true }
            }
            _ => Missed { first: self.number_of(before), is_lost: false },
        };
        Slowed { seat, process, missed, messages: self.messages.saturating_sub(before) }
    }

    /// Queues the messages for every subscriber at the end of the turn, but not for these processes. Returns how many
    /// were queued, and which subscribers did not get them.
    pub(crate) fn send<M>(
        &self,
        context: &mut ServiceContext<'_, M>,
        bound: usize,
        without: &HashSet<ProcessId>,
    ) -> (u64, Vec<Slowed>) {
        let (mut delivered, mut slowed) = (0, Vec::new());
        if self.bytes.is_empty() {
            return (delivered, slowed);
        }
        let bytes: Rc<[u8]> = self.bytes.as_slice().into();
        for receiver in self.receivers() {
            if !without.is_empty() && without.contains(&receiver.process) {
                continue;
            }
            let (sent, messages) = match receiver.from {
                0 => (context.queue(receiver.process, &bytes, bound), self.messages),
                // Messages from before it joined are not for it.
                from => match self.bytes.get(from as usize..) {
                    None | Some([]) => continue,
                    Some(rest) => (context.queue(receiver.process, &rest.into(), usize::MAX), 1),
                },
            };
            match sent {
                Ok(()) => delivered += u64::from(messages),
                // Its end is about to be reported.
                Err(Refused::Gone) => {}
                Err(Refused::Behind) => slowed.push(self.slowed(receiver, 0)),
            }
        }
        (delivered, slowed)
    }

    pub(crate) fn end_turn(&mut self) {
        for late in std::mem::take(&mut self.late) {
            if let SeatState::Late(process, _) = self.seats[late as usize] {
                self.seats[late as usize] = SeatState::Live(process);
            }
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BUFFER_BYTES);
        self.marks.clear();
        self.marks.shrink_to(KEPT_MARKS);
        self.messages = 0;
        self.jumps.clear();
        self.lost = None;
    }
}

/// Marks that an audience keeps room for between turns.
const KEPT_MARKS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_first_missed_message_is_right_where_numbers_are_left_out() {
        let mut audience = Audience::new(Format::WebSocket);
        audience.join(ProcessId::from_bits(1));
        for (order, number) in [(1, 5), (2, 9), (3, 10), (4, 12)] {
            audience.put(order, number, |_, out| out.push(b'x'));
        }
        let missed = |audience: &Audience, before| {
            let receiver = audience.receivers().next().expect("one has joined");
            audience.slowed(receiver, before).missed
        };
        let at = |first| Missed { first, is_lost: false };
        let all: Vec<Missed> = (0..5).map(|before| missed(&audience, before)).collect();
        assert_eq!(all, [at(5), at(9), at(10), at(12), at(13)]);
        audience.put_lost(5, 20, |_, out| out.push(b'x'));
        audience.put(6, 25, |_, out| out.push(b'x'));
        assert_eq!(missed(&audience, 4), Missed { first: 21, is_lost: true });
        assert_eq!(missed(&audience, 5), at(26));
        audience.end_turn();
        audience.put(1, 30, |_, out| out.push(b'x'));
        assert_eq!(missed(&audience, 0), at(30));
    }
}
