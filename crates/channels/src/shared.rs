//! A channel with a history as its home follows it in a cluster.
//!
//! Owns which messages wait until the history was read, what was read so far, and how often that was tried. Never reads
//! and never delivers: `hub/cluster` does.

use std::collections::BTreeMap;

use runtime::mailbox::Endpoint;

use crate::cluster::Keeping;
use crate::history::History;
use crate::limits::{HELD_MESSAGES, READ_TRIES};
use crate::message::Payload;
use crate::position::Position;

/// The knowledge of a channel's home about its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing yet: subscribers wait until the history was read; without history, until it is followed.
    Unknown,
    /// Messages may be missing behind those that are known: new ones wait until the history was read.
    Doubtful,
    /// Everything: each new message proves that it is the next one.
    Whole,
}

/// A message that waits.
#[derive(Clone, Debug)]
pub(crate) struct HeldMessage {
    pub(crate) before: u64,
    pub(crate) body: Payload,
    /// The read that was under way when it came.
    during: Option<u64>,
}

impl HeldMessage {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.body.bytes().len()
    }
}

/// Another scheduler that waits for the state of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingJoin {
    pub(crate) from: Endpoint,
    pub(crate) ticket: u64,
    /// The number that one of its subscribers has seen elsewhere.
    pub(crate) reach: u64,
}

/// A channel that is followed.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) keeping: Keeping,
    pub(crate) sight: Sight,
    /// A channel that was followed later has a higher one.
    pub(crate) ticket: u64,
    /// How often the cluster had come back when messages were last known to be missing or not.
    pub(crate) returns: u64,
    /// The read that is under way.
    pub(crate) read: Option<u64>,
    /// Whether it is among the channels that will be read.
    pub(crate) is_queued: bool,
    /// The messages that were read so far, with their epoch, until nothing is left.
    pub(crate) draft: Option<(u64, History)>,
    /// By epoch and number.
    held: BTreeMap<(u64, u64), HeldMessage>,
    held_bytes: usize,
    /// Whether a message that could not be held came since the last read began.
    is_incomplete: bool,
    /// Whether subscribers know a position.
    pub(crate) is_told: bool,
    /// The last message that patterns got.
    seen: Position,
    tries: u8,
    failures: u8,
    is_put_off: bool,
    pub(crate) joins: Vec<WaitingJoin>,
}

impl Shared {
    /// A channel that is followed with this ticket, when the cluster had come back so often.
    pub(crate) fn new(keeping: Keeping, sight: Sight, (ticket, returns): (u64, u64)) -> Self {
        Self {
            keeping,
            sight,
            ticket,
            returns,
            read: None,
            is_queued: false,
            draft: None,
            held: BTreeMap::new(),
            held_bytes: 0,
            is_incomplete: false,
            is_told: false,
            seen: Position { epoch: 0, offset: 0 },
            tries: 0,
            failures: 0,
            is_put_off: false,
            joins: Vec::new(),
        }
    }

    /// A message has come. Whether patterns did not get it yet.
    pub(crate) fn see(&mut self, position: Position) -> bool {
        let is_new = position.epoch != self.seen.epoch || position.offset > self.seen.offset;
        if is_new {
            self.seen = position;
        }
        is_new
    }

    /// A message waits until the history was read, or is read from it.
    pub(crate) fn hold(&mut self, position: Position, before: u64, body: &Payload) {
        let at = (position.epoch, position.offset);
        if self.held.contains_key(&at) {
            return;
        }
        if self.held.len() >= HELD_MESSAGES {
            self.is_incomplete = true;
            return;
        }
        let held = HeldMessage { before, body: body.clone(), during: self.read };
        self.held_bytes += held.bytes();
        self.held.insert(at, held);
    }

    /// Bytes of the messages that wait.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// A message came for which there was no room: it is read later.
    pub(crate) fn miss(&mut self) {
        self.is_incomplete = true;
    }

    /// A read begins: it will have what came before it.
    pub(crate) fn begin_read(&mut self, read: u64) {
        self.read = Some(read);
        self.is_incomplete = false;
    }

    /// Everything up to this number of this epoch is known by this read. Messages of other epochs are dropped if they
    /// came before it began.
    pub(crate) fn forget_held(&mut self, known: Position, read: Option<u64>) {
        self.held.retain(|(epoch, number), held| {
            let stays = if *epoch == known.epoch {
                *number > known.offset
            } else {
                read.is_some() && held.during == read
            };
            self.held_bytes -= if stays { 0 } else { held.bytes() };
            stays
        });
    }

    /// The first message of this epoch that waits.
    pub(crate) fn first_held(&self, epoch: u64) -> Option<(u64, HeldMessage)> {
        let mut those = self.held.range((epoch, 0)..=(epoch, u64::MAX));
        those.next().map(|((_, number), held)| (*number, held.clone()))
    }

    /// Whether a message is still to be read.
    pub(crate) fn wants_more(&self) -> bool {
        self.is_incomplete || !self.held.is_empty()
    }

    /// The history could not be read; the next read begins later. Whether that has failed for long.
    pub(crate) fn fail(&mut self) -> bool {
        (self.is_incomplete, self.is_put_off) = (true, true);
        self.failures = self.failures.saturating_add(1);
        self.failures >= READ_TRIES
    }

    /// The missing messages were not in the history. Whether that was the last try.
    pub(crate) fn try_again(&mut self) -> bool {
        self.tries += 1;
        let is_last = self.tries >= READ_TRIES;
        if is_last {
            self.tries = 0;
        }
        is_last
    }

    /// Everything is known.
    pub(crate) fn settle(&mut self) {
        self.sight = Sight::Whole;
        (self.tries, self.failures) = (0, 0);
    }

    /// Whether the next read begins at once: further ones, and those after a failure, wait.
    pub(crate) fn take_urgency(&mut self) -> bool {
        !std::mem::take(&mut self.is_put_off) && self.tries < READ_TRIES / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_wait_up_to_a_limit_and_leave_when_they_are_known() {
        let at = |epoch, offset| Position { epoch, offset };
        let body = Payload::of_text("text");
        let mut shared = Shared::new(Keeping::History, Sight::Unknown, (1, 0));
        shared.begin_read(1);
        for number in 1..=HELD_MESSAGES as u64 {
            shared.hold(at(1, number), number - 1, &body);
            shared.hold(at(1, number), number - 1, &body);
        }
        assert_eq!(shared.held_bytes(), HELD_MESSAGES * (size_of::<HeldMessage>() + 4));
        assert!(!shared.is_incomplete);
        shared.hold(at(1, 1_000), 999, &body);
        assert!(shared.is_incomplete, "it has to be read");
        shared.forget_held(at(1, 10), Some(1));
        assert_eq!(
            shared.first_held(1).map(|(number, held)| (number, held.before)),
            Some((11, 10))
        );
        assert!(shared.first_held(2).is_none());
        shared.forget_held(at(1, 1_000), Some(1));
        assert_eq!((shared.held_bytes(), shared.wants_more()), (0, true));
        shared.begin_read(2);
        assert!(!shared.wants_more());
        // Another epoch may have begun after this read, and not before the next one.
        shared.hold(at(2, 1), 0, &body);
        shared.forget_held(at(1, 1_000), Some(2));
        assert!(shared.wants_more());
        shared.forget_held(at(1, 1_000), Some(3));
        assert!(!shared.wants_more());
    }

    #[test]
    fn a_read_is_tried_again_at_first_at_once_and_then_later() {
        let mut shared = Shared::new(Keeping::History, Sight::Unknown, (1, 0));
        let tries: Vec<(bool, bool)> =
            (0..READ_TRIES).map(|_| (shared.take_urgency(), shared.try_again())).collect();
        assert_eq!(tries, [(true, false), (true, false), (false, false), (false, true)]);
        let failures: Vec<(bool, bool)> =
            (0..READ_TRIES).map(|_| (shared.fail(), shared.take_urgency())).collect();
        assert_eq!(failures, [(false, false), (false, false), (false, false), (true, false)]);
        assert!(shared.take_urgency(), "a read that succeeds is followed at once");
    }

    #[test]
    fn patterns_get_each_message_once() {
        let mut shared = Shared::new(Keeping::History, Sight::Unknown, (1, 0));
        let seen = [(1, 5), (1, 5), (1, 4), (1, 6), (2, 1), (2, 1)];
        let seen = seen.map(|(epoch, offset)| shared.see(Position { epoch, offset }));
        assert_eq!(seen, [true, false, false, true, true, false]);
    }
}
