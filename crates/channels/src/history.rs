//! The recent messages of a channel.
//!
//! Owns their numbers, which have no gaps, and how many are kept. Never reads a clock: time is an
//! argument.

use std::collections::VecDeque;

use crate::message::Payload;
use crate::rules::HistoryRules;

/// The memory of a message in addition to its bytes: its place, and its reference count.
const MESSAGE_BYTES: usize = size_of::<(Payload, u64)>() + 2 * size_of::<usize>();

/// The last messages of a channel, oldest first. They are numbered from 1.
#[derive(Debug)]
pub(crate) struct History {
    messages: VecDeque<(Payload, u64)>,
    /// The number of the next message; the one before it is the last that is kept.
    next: u64,
    bytes: usize,
}

impl Default for History {
    fn default() -> Self {
        Self { messages: VecDeque::new(), next: 1, bytes: 0 }
    }
}

impl History {
    /// A copy from another scheduler: `next` is the number after the last of these messages.
    pub(crate) fn of(messages: Vec<(Payload, u64)>, next: u64) -> Self {
        let bytes = messages.iter().map(|(body, _)| body.bytes().len()).sum();
        Self { messages: messages.into(), next, bytes }
    }

    /// The number of the next message.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The number of the first message that is kept, or of the next one.
    fn first(&self) -> u64 {
        self.next - self.messages.len() as u64
    }

    /// The number of messages that are kept.
    pub(crate) fn count(&self) -> usize {
        self.messages.len()
    }

    /// Bytes of memory held: those of its messages, and the overhead of each.
    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes + self.messages.len() * MESSAGE_BYTES
    }

    /// The number of the first of the last messages that together have at most this many bytes.
    pub(crate) fn last_within(&self, bytes: u64) -> u64 {
        let mut left = bytes;
        let fits = self.messages.iter().rev().take_while(|(body, _)| {
            let rest = left.checked_sub(body.bytes().len() as u64);
            left = rest.unwrap_or(0);
            rest.is_some()
        });
        self.next - fits.count() as u64
    }

    /// Whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Numbers a message, and keeps it if the rules say so.
    pub(crate) fn push(&mut self, body: &Payload, now_ms: u64, rules: &HistoryRules) -> u64 {
        let offset = self.next;
        self.next += 1;
        if rules.keeps() {
            self.bytes += body.bytes().len();
            self.messages.push_back((body.clone(), now_ms));
        }
        self.trim(now_ms, rules);
        offset
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
    }

    /// The messages from this number on, with their numbers, and how many before them are no longer kept.
    pub(crate) fn since(&self, offset: u64) -> (impl Iterator<Item = (u64, &Payload)>, u64) {
        let first = self.first();
        let skipped = usize::try_from(offset.saturating_sub(first)).unwrap_or(usize::MAX);
        let begin = first.max(offset).min(self.next);
        let kept = self.messages.iter().skip(skipped).map(|(body, _)| body);
        ((begin..).zip(kept), first.saturating_sub(offset))
    }

    /// All messages, for another scheduler.
    pub(crate) fn copy(&self) -> Vec<(Payload, u64)> {
        self.messages.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: HistoryRules = HistoryRules { count: 3, bytes: 10, age_ms: 1000 };

    fn since(history: &History, offset: u64) -> (Vec<(u64, String)>, u64) {
        let (messages, lost) = history.since(offset);
        (messages.map(|(offset, body)| (offset, body.text().to_owned())).collect(), lost)
    }

    fn named(names: &[(u64, &str)]) -> Vec<(u64, String)> {
        names.iter().map(|(offset, name)| (*offset, (*name).to_owned())).collect()
    }

    #[test]
    fn the_last_messages_are_kept_by_count_bytes_and_age() {
        let mut history = History::default();
        for (at_ms, text) in [(0, "a"), (10, "b"), (20, "c"), (30, "d")] {
            history.push(&Payload::of_text(text), at_ms, &RULES);
        }
        assert_eq!(since(&history, 1), (named(&[(2, "b"), (3, "c"), (4, "d")]), 1));
        assert_eq!(since(&history, 4), (named(&[(4, "d")]), 0));
        assert_eq!(since(&history, 5), (vec![], 0));
        assert_eq!(since(&history, 9), (vec![], 0));
        history.push(&Payload::of_text("123456789"), 40, &RULES);
        assert_eq!(since(&history, 4), (named(&[(4, "d"), (5, "123456789")]), 0));
        history.trim(1035, &RULES);
        assert_eq!(since(&history, 4), (named(&[(5, "123456789")]), 1));
        assert_eq!(history.held_bytes(), 9 + MESSAGE_BYTES);
        assert_eq!((history.last_within(9), history.last_within(8)), (5, 6));
        history.push(&Payload::of_text("longer than all"), 50, &RULES);
        assert_eq!((history.held_bytes(), history.next(), history.is_empty()), (0, 7, true));
    }

    #[test]
    fn without_a_history_messages_have_numbers_all_the_same() {
        let mut history = History::default();
        let none = HistoryRules { count: 0, ..RULES };
        assert_eq!(history.push(&Payload::of_text("a"), 0, &none), 1);
        assert_eq!(history.push(&Payload::of_text("a"), 0, &none), 2);
        assert_eq!(since(&history, 2), (vec![], 1), "it is known to be lost");
    }
}
