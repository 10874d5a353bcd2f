//! The recent messages of a channel.
//!
//! Owns their numbers, and how many are kept. Numbers have no gaps, unless the messages come from a cluster. Never
//! reads a clock: time is an argument.

use std::collections::VecDeque;

use crate::cluster::KeptMessage;
use crate::message::Payload;
use crate::rules::HistoryRules;

/// The memory of a message in addition to its bytes: its place, and its reference count.
const MESSAGE_BYTES: usize = size_of::<(Payload, u64)>() + 2 * size_of::<usize>();

/// The last messages of a channel, oldest first. They are numbered from 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    messages: VecDeque<(Payload, u64)>,
    /// There is no further message up to this number: that of the last message, or in a cluster perhaps a later one.
    known: u64,
    bytes: usize,
    /// `None`: the last message has the number `known`, and those before it the numbers before.
    gaps: Option<Box<Gaps>>,
}

/// The numbers of messages that come from a cluster, whose streams many channels share.
#[derive(Clone, Debug)]
struct Gaps {
    numbers: VecDeque<u64>,
    /// A message that is not kept has at most this number.
    complete_after: u64,
    accepted: u64,
}

impl History {
    /// One that begins after a number of a stream.
    pub(crate) fn of_stream(complete_after: u64) -> Self {
        let gaps = Gaps { numbers: VecDeque::new(), complete_after, accepted: 0 };
        Self { known: complete_after, gaps: Some(Box::new(gaps)), ..Self::default() }
    }

    /// Forgets all messages of a stream up to this number.
    pub(crate) fn begin_anew(&mut self, last: u64) {
        let accepted = self.accepted();
        *self = Self::of_stream(last);
        if let Some(gaps) = &mut self.gaps {
            gaps.accepted = accepted;
        }
    }

    /// The number up to which everything is known.
    pub(crate) fn known(&self) -> u64 {
        self.known
    }

    /// There are no messages up to this number of the stream but those that were pushed.
    pub(crate) fn know(&mut self, last: u64) {
        if self.gaps.is_some() {
            self.known = self.known.max(last);
        }
    }

    /// The number of the last message, or one behind it without a message between.
    pub(crate) fn last(&self) -> u64 {
        match &self.gaps {
            None => self.known,
            Some(gaps) => gaps.numbers.back().copied().unwrap_or(gaps.complete_after),
        }
    }

    /// Messages after this number are kept, all of them.
    pub(crate) fn complete_after(&self) -> u64 {
        match &self.gaps {
            None => self.known - self.messages.len() as u64,
            Some(gaps) => gaps.complete_after,
        }
    }

    /// Whether a message comes next: it is new, and the one before it is known.
    pub(crate) fn is_next(&self, number: u64, before: u64) -> bool {
        before <= self.known && number > self.known
    }

    /// The number of the message in this place.
    fn number(&self, at: usize) -> u64 {
        match &self.gaps {
            None => self.complete_after() + 1 + at as u64,
            Some(gaps) => gaps.numbers[at],
        }
    }

    /// The first place with a number above this one.
    fn place_after(&self, number: u64) -> usize {
        match &self.gaps {
            None => {
                let place = number.saturating_sub(self.complete_after());
                usize::try_from(place).unwrap_or(usize::MAX).min(self.messages.len())
            }
            Some(gaps) => gaps.numbers.partition_point(|kept| *kept <= number),
        }
    }

    /// The number of messages that are kept.
    pub(crate) fn count(&self) -> usize {
        self.messages.len()
    }

    /// The number of messages that there were.
    pub(crate) fn accepted(&self) -> u64 {
        self.gaps.as_ref().map_or(self.known, |gaps| gaps.accepted)
    }

    /// Bytes of memory held: those of its messages, and the overhead of each.
    pub(crate) fn held_bytes(&self) -> usize {
        let numbers = self.gaps.as_ref().map_or(0, |gaps| gaps.numbers.len() * size_of::<u64>());
        self.bytes + self.messages.len() * MESSAGE_BYTES + numbers
    }

    /// The number after which messages of at most this many bytes come.
    pub(crate) fn after_within(&self, bytes: u64) -> u64 {
        let mut left = bytes;
        let fits = self.messages.iter().rev().take_while(|(body, _)| {
            let rest = left.checked_sub(body.bytes().len() as u64);
            left = rest.unwrap_or(0);
            rest.is_some()
        });
        self.before_last(fits.count())
    }

    /// The number after which so many messages come, or all that are kept.
    pub(crate) fn before_last(&self, count: usize) -> u64 {
        let at = self.messages.len().saturating_sub(count);
        if at < self.messages.len() { self.number(at) - 1 } else { self.known }
    }

    /// The number of messages from this number on, as far as it is known.
    pub(crate) fn count_from(&self, first: u64) -> u64 {
        match &self.gaps {
            None => (self.known + 1).saturating_sub(first),
            Some(_) => (self.count() - self.place_after(first.saturating_sub(1))) as u64,
        }
    }

    /// Whether the numbers of messages show that none is missing.
    pub(crate) fn is_dense(&self) -> bool {
        self.gaps.is_none()
    }

    /// Whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Takes the message with this number, which is the next one, and keeps it if the rules say so.
    pub(crate) fn push(&mut self, number: u64, body: &Payload, at_ms: u64, rules: &HistoryRules) {
        debug_assert!(number > self.known, "numbers grow");
        self.known = number;
        if let Some(gaps) = &mut self.gaps {
            gaps.accepted += 1;
            gaps.numbers.push_back(number);
        }
        // In a cluster what is not kept is dropped below.
        if rules.keeps() || self.gaps.is_some() {
            self.bytes += body.bytes().len();
            self.messages.push_back((body.clone(), at_ms));
        }
    }

    /// Takes the messages of a stream from this number on out again.
    pub(crate) fn take_from(&mut self, number: u64, now_ms: u64) -> Vec<KeptMessage> {
        let place = self.place_after(number.saturating_sub(1));
        let Some(gaps) = &mut self.gaps else { return Vec::new() };
        let numbers = gaps.numbers.split_off(place);
        let messages = self.messages.split_off(place);
        gaps.accepted -= messages.len() as u64;
        self.bytes -= messages.iter().map(|(body, _)| body.bytes().len()).sum::<usize>();
        self.known = number.saturating_sub(1).max(gaps.complete_after).min(self.known);
        let kept = |(number, (body, at_ms)): (u64, (Payload, u64))| KeptMessage {
            number,
            age_ms: now_ms.saturating_sub(at_ms),
            body,
        };
        numbers.into_iter().zip(messages).map(kept).collect()
    }

    /// Drops messages that the rules no longer keep.
    pub(crate) fn trim(&mut self, now_ms: u64, rules: &HistoryRules) {
        while let Some((_, at_ms)) = self.messages.front() {
            let is_too_old = now_ms.saturating_sub(*at_ms) >= rules.age_ms;
            let is_too_much =
                self.messages.len() > rules.count as usize || self.bytes as u64 > rules.bytes;
            if !is_too_old && !is_too_much {
                break;
            }
            self.drop_oldest();
        }
    }

    /// Drops the oldest message.
    pub(crate) fn drop_oldest(&mut self) {
        self.bytes -= self.messages.pop_front().map_or(0, |(body, _)| body.bytes().len());
        if let Some(gaps) = &mut self.gaps
            && let Some(number) = gaps.numbers.pop_front()
        {
            gaps.complete_after = number;
        }
    }

    /// The messages after this number, with their numbers, and whether some of them are no longer kept.
    pub(crate) fn since(&self, after: u64) -> (impl Iterator<Item = (u64, &Payload)>, bool) {
        let place = self.place_after(after);
        let kept = self.messages.range(place..).enumerate();
        let numbered = kept.map(move |(at, (body, _))| (self.number(place + at), body));
        (numbered, after < self.complete_after())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: HistoryRules = HistoryRules { count: 3, bytes: 10, age_ms: 1000 };

    fn push(history: &mut History, text: &str, at_ms: u64, rules: &HistoryRules) -> u64 {
        let number = history.known() + 1;
        history.push(number, &Payload::of_text(text), at_ms, rules);
        history.trim(at_ms, rules);
        number
    }

    fn since(history: &History, offset: u64) -> (Vec<(u64, String)>, bool) {
        let (messages, is_lost) = history.since(offset - 1);
        (messages.map(|(offset, body)| (offset, body.text().to_owned())).collect(), is_lost)
    }

    fn named(names: &[(u64, &str)]) -> Vec<(u64, String)> {
        names.iter().map(|(offset, name)| (*offset, (*name).to_owned())).collect()
    }

    #[test]
    fn messages_that_are_taken_out_are_unknown_again() {
        let mut history = History::of_stream(2);
        for (number, text) in [(4, "a"), (7, "bb"), (9, "c")] {
            history.push(number, &Payload::of_text(text), number, &RULES);
        }
        history.know(12);
        let taken: Vec<(u64, u64)> =
            history.take_from(7, 20).iter().map(|of| (of.number, of.age_ms)).collect();
        assert_eq!(taken, [(7, 13), (9, 11)]);
        assert_eq!((history.known(), history.count(), history.accepted()), (6, 1, 1));
        assert_eq!(since(&history, 3), (named(&[(4, "a")]), false));
        assert_eq!(history.held_bytes(), 1 + MESSAGE_BYTES + size_of::<u64>());
        // Without the older ones, what is known begins behind those that are gone.
        history.drop_oldest();
        assert_eq!((history.take_from(2, 20).len(), history.known()), (0, 4));
    }

    #[test]
    fn the_last_messages_are_kept_by_count_bytes_and_age() {
        let mut history = History::default();
        for (at_ms, text) in [(0, "a"), (10, "b"), (20, "c"), (30, "d")] {
            push(&mut history, text, at_ms, &RULES);
        }
        assert_eq!(since(&history, 1), (named(&[(2, "b"), (3, "c"), (4, "d")]), true));
        assert_eq!(since(&history, 4), (named(&[(4, "d")]), false));
        assert_eq!(since(&history, 5), (vec![], false));
        assert_eq!(since(&history, 9), (vec![], false));
        push(&mut history, "123456789", 40, &RULES);
        assert_eq!(since(&history, 4), (named(&[(4, "d"), (5, "123456789")]), false));
        history.trim(1035, &RULES);
        assert_eq!(since(&history, 4), (named(&[(5, "123456789")]), true));
        assert_eq!(history.held_bytes(), 9 + MESSAGE_BYTES);
        assert_eq!((history.after_within(9), history.after_within(8)), (4, 5));
        push(&mut history, "longer than all", 50, &RULES);
        assert_eq!((history.held_bytes(), history.known(), history.is_empty()), (0, 6, true));
    }

    #[test]
    fn without_a_history_messages_have_numbers_all_the_same() {
        let mut history = History::default();
        let none = HistoryRules { count: 0, ..RULES };
        assert_eq!(push(&mut history, "a", 0, &none), 1);
        assert_eq!(push(&mut history, "a", 0, &none), 2);
        assert_eq!(since(&history, 2), (vec![], true), "it is known to be lost");
    }
    #[test]
    fn numbers_of_a_stream_have_gaps_and_what_is_before_the_first_is_lost() {
        let mut history = History::of_stream(10);
        assert_eq!((history.last(), history.known(), history.complete_after()), (10, 10, 10));
        history.know(12);
        for (number, text) in [(15, "a"), (20, "b"), (21, "c")] {
            history.push(number, &Payload::of_text(text), 0, &RULES);
            history.trim(0, &RULES);
        }
        let all = named(&[(15, "a"), (20, "b"), (21, "c")]);
        assert_eq!(since(&history, 11), (all.clone(), false));
        assert_eq!(since(&history, 10), (all, true));
        assert_eq!(since(&history, 16), (named(&[(20, "b"), (21, "c")]), false));
        assert_eq!(since(&history, 31), (vec![], false));
        assert_eq!((history.count_from(16), history.count_from(22), history.accepted()), (2, 0, 3));
        assert_eq!((history.before_last(1), history.before_last(2)), (20, 19));
        push(&mut history, "d", 0, &RULES);
        assert!(!since(&history, 16).1);
        assert!(since(&history, 15).1);
        assert_eq!((history.last(), history.complete_after(), history.count()), (22, 15, 3));
        history.know(30);
        assert_eq!((history.last(), history.known(), history.before_last(0)), (22, 30, 30));
        let alone = &mut History::default();
        alone.know(5);
        assert_eq!(alone.known(), 0, "alone there are no numbers without a message");
    }
}
