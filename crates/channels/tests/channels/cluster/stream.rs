//! The sequencer of an in-memory cluster: streams that number the messages of many channels, as JetStream does.
//!
//! Owns what a stream keeps, what it knows of the messages before each other, and what a read of it says.

use std::collections::BTreeSet;

use channels::{HistoryPart, KeptMessage, Payload, Remainder};

/// Messages of a channel that a stream keeps.
pub(crate) const PER_CHANNEL: usize = 40;

#[derive(Clone)]
struct Stored {
    number: u64,
    channel: String,
    body: Payload,
    at_ms: u64,
}

/// A stream.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) epoch: u64,
    last: u64,
    stored: Vec<Stored>,
    /// Everything before this number was dropped, whichever channel it belonged to.
    first: u64,
    keys: Vec<(String, u64)>,
    /// All that were ever added: epoch, channel and number.
    pub(crate) ever: Vec<(u64, String, u64)>,
    /// How many that were.
    pub(crate) added: u64,
}

impl Stream {
    pub(crate) fn new(epoch: u64) -> Self {
        Self { epoch, first: 1, ..Self::default() }
    }

    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Adds a message, unless its key is known. Returns its number, and that of the one before it if it is new.
    pub(crate) fn add(
        &mut self,
        channel: &str,
        body: &Payload,
        key: &str,
        at_ms: u64,
    ) -> (u64, Option<u64>) {
        if let Some((_, number)) = self.keys.iter().find(|(known, _)| known == key) {
            return (*number, None);
        }
        let own = |stored: &&Stored| stored.channel == channel;
        let before = self.stored.iter().rev().find(own).map_or(0, |stored| stored.number);
        self.last += 1;
        self.added += 1;
        let number = self.last;
        self.keys.push((key.to_owned(), number));
        self.ever.push((self.epoch, channel.to_owned(), number));
        let channel = channel.to_owned();
        self.stored.push(Stored { number, channel: channel.clone(), body: body.clone(), at_ms });
        if self.stored.iter().filter(|stored| stored.channel == channel).count() > PER_CHANNEL
            && let Some(oldest) = self.stored.iter().position(|stored| stored.channel == channel)
        {
            self.stored.remove(oldest);
        }
        (number, Some(before))
    }

    /// Drops the oldest messages, as for want of room.
    pub(crate) fn evict(&mut self, count: usize) {
        for _ in 0..count.min(self.stored.len()) {
            self.first = self.stored.remove(0).number + 1;
        }
    }

    /// The stream is lost, and begins anew.
    pub(crate) fn lose(&mut self) {
        let (ever, added) = (std::mem::take(&mut self.ever), self.added);
        *self = Self { ever, added, ..Self::new(self.epoch + 2) };
    }

    /// The last messages are lost, as with a majority of the disks. It is another epoch then.
    pub(crate) fn roll_back(&mut self, count: u64) {
        self.epoch += 2;
        self.last = self.last.saturating_sub(count);
        self.stored.retain(|stored| stored.number <= self.last);
        self.keys.retain(|(_, number)| *number <= self.last);
        let (old, kept): (u64, BTreeSet<u64>) =
            (self.epoch - 2, self.stored.iter().map(|stored| stored.number).collect());
        let again: Vec<_> = self
            .ever
            .iter()
            .filter(|(epoch, _, number)| *epoch == old && kept.contains(number))
            .cloned()
            .collect();
        self.ever
            .extend(again.into_iter().map(|(_, channel, number)| (self.epoch, channel, number)));
    }

    /// The reply of a replica that has the messages up to `seen`.
    pub(crate) fn read(
        &self,
        channel: &str,
        after: u64,
        (seen, at_most): (u64, usize),
        now_ms: u64,
    ) -> HistoryPart {
        let kept = self.stored.iter().filter(|stored| stored.channel == channel);
        let kept: Vec<&Stored> = kept.collect();
        let mut complete_after = self.first - 1;
        if kept.len() >= PER_CHANNEL {
            complete_after = complete_after.max(kept[0].number - 1);
        }
        let own: Vec<&&Stored> = kept.iter().filter(|stored| stored.number <= seen).collect();
        if own.iter().any(|stored| stored.number == after) {
            complete_after = complete_after.min(after);
        }
        let rest: Vec<_> = own.iter().filter(|stored| stored.number > after).collect();
        let messages: Vec<KeptMessage> = rest
            .iter()
            .take(at_most)
            .map(|stored| KeptMessage {
                number: stored.number,
                age_ms: now_ms - stored.at_ms,
                body: stored.body.clone(),
            })
            .collect();
        let (last, rest) = if rest.len() > messages.len() {
            (messages.last().map_or(after, |message| message.number), Remainder::Some)
        } else {
            (seen, Remainder::None)
        };
        HistoryPart { epoch: self.epoch, complete_after, messages, last, rest }
    }
}
