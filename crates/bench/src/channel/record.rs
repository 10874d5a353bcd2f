//! The messages that one subscriber has received of each publisher.
//!
//! Owns when a message is new, late or a double, and which are missing. Knows no connection and no other subscriber.

use super::message::MessageName;
use crate::limits::CHANNEL_HOLES_FOLLOWED;

/// Why messages may be missing without a fault of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excuse {
    /// They may not.
    None,
    /// The server has said that they are lost.
    Told,
    /// The subscriber was away, and the server keeps no position of it.
    Away,
}

/// The place of a message among those that a subscriber has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// It is new.
    New {
        /// Messages of its publisher before it that are missing.
        skipped: u64,
        /// Why they may be.
        excuse: Excuse,
    },
    /// It was missing, and comes after a later one of its publisher.
    Late,
    /// It was received before.
    Double,
}

/// Consecutive messages of a publisher that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    publisher: u8,
    from: u64,
    to: u64,
}

impl Hole {
    /// The first missing message.
    pub(super) fn first(self) -> MessageName {
        MessageName { publisher: self.publisher, number: self.from }
    }

    /// How many are missing.
    pub(super) fn length(self) -> u64 {
        self.to - self.from
    }
}

#[derive(Clone, Copy, Debug)]
struct Progress {
    /// The number after the highest received; `None`: the first message decides where the record begins.
    next: Option<u64>,
    excuse: Excuse,
}

/// The messages that a subscriber has received.
#[derive(Debug)]
pub(super) struct Record {
    publishers: Box<[Progress]>,
    holes: Vec<Hole>,
    /// Missing messages in holes that are not followed.
    beyond: u64,
}

/// The messages that are missing at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    missing: u64,
    told: u64,
    away: u64,
}

impl Tail {
    /// Messages that are missing without an excuse.
    pub(super) fn missing(self) -> u64 {
        self.missing
    }

    /// Messages that the server said are lost.
    pub(super) fn told(self) -> u64 {
        self.told
    }

    /// Messages from while the subscriber was away.
    pub(super) fn away(self) -> u64 {
        self.away
    }
}

impl Record {
    /// The record of a subscriber that was there before the first message.
    pub(super) fn from_the_beginning(publishers: usize) -> Self {
        Self::beginning(publishers, Some(0))
    }

    /// The record of a subscriber that came later.
    pub(super) fn from_now_on(publishers: usize) -> Self {
        Self::beginning(publishers, None)
    }

    fn beginning(publishers: usize, next: Option<u64>) -> Self {
        let progress = Progress { next, excuse: Excuse::None };
        Self { publishers: vec![progress; publishers].into(), holes: Vec::new(), beyond: 0 }
    }

    /// A message has arrived. `None`: of a publisher that does not exist.
    pub(super) fn take(&mut self, name: MessageName) -> Option<Receipt> {
        let progress = self.publishers.get_mut(usize::from(name.publisher))?;
        let from = progress.next.unwrap_or(name.number);
        if name.number < from {
            return Some(if self.fill(name) { Receipt::Late } else { Receipt::Double });
        }
        let (skipped, excuse) = (name.number - from, progress.excuse);
        *progress = Progress { next: Some(name.number + 1), excuse: Excuse::None };
        if skipped > 0 && excuse == Excuse::None {
            if self.holes.len() < CHANNEL_HOLES_FOLLOWED {
                self.holes.push(Hole { publisher: name.publisher, from, to: name.number });
            } else {
                self.beyond += skipped;
            }
        }
        Some(Receipt::New { skipped, excuse })
    }

    /// The messages missing before the next one of each publisher have this excuse.
    pub(super) fn excuse(&mut self, excuse: Excuse) {
        for progress in &mut self.publishers {
            progress.excuse = excuse;
        }
    }

    /// A missing message has arrived; `false` if it was not missing.
    fn fill(&mut self, MessageName { publisher, number }: MessageName) -> bool {
        let is_in =
            |hole: &Hole| hole.publisher == publisher && (hole.from..hole.to).contains(&number);
        let Some(at) = self.holes.iter().position(is_in) else { return false };
        let hole = self.holes.swap_remove(at);
        let parts = [Hole { to: number, ..hole }, Hole { from: number + 1, ..hole }];
        self.holes.extend(parts.into_iter().filter(|part| part.length() > 0));
        true
    }

    /// Messages that never arrived although later ones did.
    pub(super) fn missing(&self) -> u64 {
        self.holes.iter().map(|hole| hole.length()).sum::<u64>() + self.beyond
    }

    /// Where they are, as far as that is followed.
    pub(super) fn holes(&self) -> &[Hole] {
        &self.holes
    }

    /// The first message of those that are missing at the end, if each publisher has published this many.
    pub(super) fn first_after(&self, published: &[u64]) -> Option<MessageName> {
        let ends = self.publishers.iter().zip(published).zip(0..);
        ends.filter(|((progress, _), _)| progress.excuse == Excuse::None).find_map(
            |((progress, published), publisher)| {
                let number = progress.next.filter(|next| next < published)?;
                Some(MessageName { publisher, number })
            },
        )
    }

    /// The messages that are missing at the end, if each publisher has published this many.
    pub(super) fn tail(&self, published: &[u64]) -> Tail {
        let mut tail = Tail::default();
        for (progress, published) in self.publishers.iter().zip(published) {
            let left = progress.next.map_or(0, |next| published.saturating_sub(next));
            match progress.excuse {
                Excuse::None => tail.missing += left,
                Excuse::Told => tail.told += left,
                Excuse::Away => tail.away += left,
            }
        }
        tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(publisher: u8, number: u64) -> MessageName {
        MessageName { publisher, number }
    }

    const NEW: Option<Receipt> = Some(Receipt::New { skipped: 0, excuse: Excuse::None });

    #[test]
    fn each_publisher_has_its_own_numbers() {
        let mut record = Record::from_the_beginning(2);
        for (publisher, number) in [(0, 0), (1, 0), (1, 1), (0, 1)] {
            assert_eq!(record.take(name(publisher, number)), NEW);
        }
        assert_eq!((record.missing(), record.tail(&[2, 2])), (0, Tail::default()));
        assert_eq!(record.take(name(2, 0)), None);
        assert_eq!(record.tail(&[2, 5]).missing(), 3);
        assert_eq!(record.first_after(&[2, 5]), Some(name(1, 2)));
    }

    #[test]
    fn a_gap_a_late_message_and_a_double_are_told_apart() {
        let mut record = Record::from_the_beginning(1);
        let skipped = |skipped| Some(Receipt::New { skipped, excuse: Excuse::None });
        assert_eq!(record.take(name(0, 5)), skipped(5));
        assert_eq!(record.take(name(0, 2)), Some(Receipt::Late));
        assert_eq!(record.take(name(0, 2)), Some(Receipt::Double));
        assert_eq!(record.take(name(0, 5)), Some(Receipt::Double));
        assert_eq!(record.missing(), 4);
        let mut holes: Vec<(u64, u64)> =
            record.holes().iter().map(|hole| (hole.first().number, hole.length())).collect();
        holes.sort_unstable();
        assert_eq!(holes, [(0, 2), (3, 2)]);
    }

    #[test]
    fn messages_that_the_server_calls_lost_are_no_gap() {
        let mut record = Record::from_the_beginning(2);
        record.take(name(0, 0));
        record.excuse(Excuse::Told);
        let told = Some(Receipt::New { skipped: 3, excuse: Excuse::Told });
        assert_eq!(record.take(name(0, 4)), told);
        // The excuse is used up for one publisher, and not for the other.
        assert_eq!(record.take(name(0, 6)).map(|_| record.missing()), Some(1));
        let tail = record.tail(&[7, 9]);
        assert_eq!((tail.missing(), tail.told(), tail.away()), (0, 9, 0));
    }

    #[test]
    fn the_record_of_a_newcomer_begins_with_its_first_message() {
        let mut record = Record::from_now_on(1);
        assert_eq!(record.tail(&[100]), Tail::default());
        assert_eq!(record.take(name(0, 50)), NEW);
        assert_eq!(record.take(name(0, 49)), Some(Receipt::Double));
        assert_eq!(record.tail(&[52]).missing(), 1);
    }

    #[test]
    fn holes_beyond_the_bound_are_counted() {
        let mut record = Record::from_the_beginning(1);
        let holes = CHANNEL_HOLES_FOLLOWED as u64 + 10;
        for at in 0..holes {
            record.take(name(0, at * 2 + 1));
        }
        assert_eq!((record.missing(), record.holes().len()), (holes, CHANNEL_HOLES_FOLLOWED));
    }
}
