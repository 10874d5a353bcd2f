//! Which pages are subscribed to which channels.
//!
//! Owns the owner of each subscription, who waits for a message, and what the channels are told at
//! the end of a turn. Never has a message: the channels keep the queue.

use ahash::HashMap;
use channels::ListenerNumber;

use super::process::Key;

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
    pub(super) of: HashMap<Key, Vec<ListenerNumber>>,
    /// The page that waits for a subscription, or for its next message.
    pub(super) waiting: HashMap<ListenerNumber, Key>,
    pub(super) wishes: Vec<ChannelWish>,
    pub(super) last: ListenerNumber,
}

impl Listening {
    /// Whether a subscription belongs to this page.
    pub(super) fn has(&self, key: Key, number: ListenerNumber) -> bool {
        self.of.get(&key).is_some_and(|numbers| numbers.contains(&number))
    }

    /// A page's wait has timed out.
    pub(super) fn stop_waiting(&mut self, key: Key) {
        for number in self.of.get(&key).into_iter().flatten() {
            self.waiting.remove(number);
        }
    }

    /// A page has ended.
    pub(super) fn end(&mut self, key: Key) {
        if let Some(numbers) = self.of.remove(&key) {
            for number in numbers {
                self.waiting.remove(&number);
                self.wishes.push(ChannelWish::Stop(number));
            }
        }
    }
}
