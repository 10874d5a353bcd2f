//! Which pages are subscribed to which channels.
//!
//! Owns the owner of each subscription, who waits for a message, and what the channels are told at
//! the end of a turn. Never has a message: the channels keep the queue.

use actors::RunKey;
use ahash::HashMap;
use channels::ListenerNumber;

use crate::limits::LISTENING_PER_PAGE;

/// A request of a page to the channels.
#[derive(Debug, PartialEq, Eq)]
pub enum ChannelWish {
    /// Subscribe to the channel with this name.
    Listen(ListenerNumber, Vec<u8>),
    /// Receive the next message.
    Hear(ListenerNumber),
    /// End the subscription.
    Stop(ListenerNumber),
}

/// The subscriptions of pages.
#[derive(Default)]
pub(super) struct Listening {
    of: HashMap<RunKey, Vec<ListenerNumber>>,
    /// The page that waits for a subscription, or for its next message.
    waiting: HashMap<ListenerNumber, RunKey>,
    wishes: Vec<ChannelWish>,
    last: ListenerNumber,
}

impl Listening {
    /// A page wants to subscribe, and waits for that. `false`: it has too many subscriptions.
    pub(super) fn subscribe(&mut self, key: RunKey, name: Vec<u8>) -> bool {
        let numbers = self.of.entry(key).or_default();
        if numbers.len() >= LISTENING_PER_PAGE {
            return false;
        }
        self.last += 1;
        numbers.push(self.last);
        self.waiting.insert(self.last, key);
        self.wishes.push(ChannelWish::Listen(self.last, name));
        true
    }

    /// A page waits for the next message. `false`: it has no such subscription.
    pub(super) fn hear(&mut self, key: RunKey, number: ListenerNumber) -> bool {
        let is_its = self.of.get(&key).is_some_and(|numbers| numbers.contains(&number));
        if is_its {
            self.waiting.insert(number, key);
            self.wishes.push(ChannelWish::Hear(number));
        }
        is_its
    }

    /// A page ends a subscription, if it has it.
    pub(super) fn stop(&mut self, key: RunKey, number: ListenerNumber) {
        if self.lose(key, number) {
            self.wishes.push(ChannelWish::Stop(number));
        }
    }

    /// A page does not have this subscription. Returns whether it had it.
    pub(super) fn lose(&mut self, key: RunKey, number: ListenerNumber) -> bool {
        let Some(numbers) = self.of.get_mut(&key) else { return false };
        let before = numbers.len();
        numbers.retain(|known| *known != number);
        numbers.len() < before
    }

    /// The requests to channels since the last call.
    pub(super) fn take_wishes(&mut self) -> Vec<ChannelWish> {
        std::mem::take(&mut self.wishes)
    }

    /// The page that waits for a subscription, or for its next message: it waits no longer.
    pub(super) fn take_waiting(&mut self, number: ListenerNumber) -> Option<RunKey> {
        self.waiting.remove(&number)
    }

    /// Whether a page waits for a message of this subscription.
    pub(super) fn is_waiting(&self, number: ListenerNumber) -> bool {
        self.waiting.contains_key(&number)
    }

    /// A page's wait has timed out.
    pub(super) fn stop_waiting(&mut self, key: RunKey) {
        for number in self.of.get(&key).into_iter().flatten() {
            self.waiting.remove(number);
        }
    }

    /// A page has ended.
    pub(super) fn end(&mut self, key: RunKey) {
        if self.of.is_empty() {
            return;
        }
        if let Some(numbers) = self.of.remove(&key) {
            for number in numbers {
                self.waiting.remove(&number);
                self.wishes.push(ChannelWish::Stop(number));
            }
        }
    }
}
