//! The places of subscribers, which outlive their connections.
//!
//! Owns who is there, who is away and why, and the connections that are to be opened.

use std::collections::VecDeque;
use std::ops::Range;

use runtime::slots::ProcessId;

use super::super::message::MessageName;
use super::super::objects;
use super::super::record::{Excuse, Receipt, Record};
use crate::limits::RECONNECT_PAUSE_NS;

/// Why a subscriber is away, and will be there again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absence {
    /// Its connection was cut; it comes back with its position.
    Cut,
    /// It left, and another one comes.
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Not yet connected.
    New,
    /// Subscribed.
    Here(ProcessId),
    /// Its connection was ended on purpose at this time, and is opened again.
    Away { since_ns: u64, why: Absence },
    /// It ended and stays away.
    Over,
}

/// A position in a channel.
#[derive(Debug)]
struct Position {
    channel: String,
    epoch: String,
    number: u64,
}

/// The place of a subscriber.
#[derive(Debug)]
pub(super) struct Seat {
    presence: Presence,
    record: Record,
    /// The place of its latest message in the order of all.
    latest: Option<u32>,
    received: u64,
    position: Option<Box<Position>>,
    is_newcomer: bool,
}

impl Seat {
    fn new(publishers: usize) -> Self {
        Self {
            presence: Presence::New,
            record: Record::from_the_beginning(publishers),
            latest: None,
            received: 0,
            position: None,
            is_newcomer: false,
        }
    }

    pub(super) fn presence(&self) -> Presence {
        self.presence
    }

    pub(super) fn set_presence(&mut self, presence: Presence) {
        self.presence = presence;
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// The messages it received, unless it came for another one.
    pub(super) fn received_from_the_beginning(&self) -> Option<u64> {
        (!self.is_newcomer).then_some(self.received)
    }

    /// A message has arrived.
    pub(super) fn take(&mut self, name: MessageName) -> Option<Receipt> {
        let receipt = self.record.take(name)?;
        self.received += u64::from(receipt != Receipt::Double);
        Some(receipt)
    }

    /// A message is the latest; the result is that one and the one before, if both are followed.
    pub(super) fn follow(&mut self, place: Option<u32>) -> Option<[u32; 2]> {
        let before = std::mem::replace(&mut self.latest, place);
        Some([before?, place?])
    }

    /// Messages before the next one of each publisher may be missing.
    pub(super) fn excuse(&mut self, excuse: Excuse) {
        self.record.excuse(excuse);
    }

    /// Another subscriber takes the place.
    pub(super) fn renew(&mut self, publishers: usize) {
        let record = Record::from_now_on(publishers);
        *self = Self { record, is_newcomer: true, ..Self::new(publishers) };
    }

    /// The server has named a position.
    pub(super) fn set_position(&mut self, channel: &str, since: &str) {
        let Some((epoch, number)) = since.rsplit_once('-') else { return };
        let Ok(number) = number.parse() else { return };
        let (channel, epoch) = (channel.to_owned(), epoch.to_owned());
        self.position = Some(Box::new(Position { channel, epoch, number }));
    }

    /// A message had this number in its position.
    pub(super) fn advance(&mut self, number: u64) {
        if let Some(position) = &mut self.position {
            position.number = number;
        }
    }

    /// The channel, as the server names it.
    pub(super) fn channel(&self) -> Option<&str> {
        self.position.as_deref().map(|position| position.channel.as_str())
    }

    /// The subscription with its position; `None` without one.
    pub(super) fn subscription(&self) -> Option<String> {
        let Position { channel, epoch, number } = self.position.as_deref()?;
        Some(objects::subscribe(channel, &format!("{epoch}-{number}")))
    }
}

/// The seats of a thread, and the connections that are to be opened.
#[derive(Debug)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    unopened: Range<u32>,
    again: VecDeque<u32>,
    /// Connections that failed are tried again after a pause.
    pause_until_ns: u64,
}

impl Seats {
    pub(super) fn new(count: u32, publishers: usize) -> Self {
        Self {
            seats: (0..count).map(|_| Seat::new(publishers)).collect(),
            unopened: 0..count,
            again: VecDeque::new(),
            pause_until_ns: 0,
        }
    }

    /// The seat with this number, which is that of a connection of this thread.
    pub(super) fn seat(&mut self, number: u32) -> &mut Seat {
        &mut self.seats[number as usize]
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.seats.len()).unwrap_or(u32::MAX)
    }

    /// The next connection to open.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<u32> {
        self.unopened
            .next()
            .or_else(|| if now_ns < self.pause_until_ns { None } else { self.again.pop_front() })
    }

    /// When there is another connection to open; `None` if there is none.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let is_new = self.unopened.start < self.unopened.end;
        if is_new { Some(0) } else { self.again.front().map(|_| self.pause_until_ns) }
    }

    /// A connection is to be opened again.
    pub(super) fn reopen(&mut self, number: u32) {
        self.again.push_back(number);
    }

    /// A connection could not be opened and is tried again after a pause.
    pub(super) fn retry(&mut self, number: u32, now_ns: u64) {
        self.pause_until_ns = now_ns + RECONNECT_PAUSE_NS;
        self.again.push_back(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_connection_waits_and_a_new_one_does_not() {
        let mut seats = Seats::new(2, 1);
        assert_eq!((seats.next(0), seats.due_ns()), (Some(0), Some(0)));
        seats.retry(0, 1_000);
        assert_eq!((seats.next(1_000), seats.next(1_000)), (Some(1), None));
        let due_ns = 1_000 + RECONNECT_PAUSE_NS;
        assert_eq!(
            (seats.due_ns(), seats.next(due_ns), seats.due_ns()),
            (Some(due_ns), Some(0), None)
        );
    }

    #[test]
    fn a_position_moves_with_the_messages() {
        let mut seats = Seats::new(1, 1);
        let seat = seats.seat(0);
        assert_eq!(seat.subscription(), None);
        seat.advance(9);
        seat.set_position("a", "93f0-2");
        seat.advance(3);
        let order = r#"{"subscribe":"a","since":"93f0-3"}"#;
        assert_eq!((seat.subscription().as_deref(), seat.channel()), (Some(order), Some("a")));
        seat.renew(1);
        assert_eq!((seat.subscription(), seat.received_from_the_beginning()), (None, None));
    }
}
