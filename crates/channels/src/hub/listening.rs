//! Subscribers within the server, such as pages: they receive messages instead of bytes for a
//! client.
//!
//! Owns the queue of each, with its limits: one that does not take its messages loses the oldest,
//! and is told how many.

use std::collections::VecDeque;

use ahash::HashMap;

use super::Channels;
use crate::channel::Channel;
use crate::limits::{LISTENER_MESSAGES, LISTENERS_BYTES};
use crate::message::Payload;
use crate::outcome::ChannelRefusal;
use crate::position::Position;
use crate::ruling::SubscribeRight;

/// The memory of a waiting message in addition to its bytes.
const MESSAGE_BYTES: usize = size_of::<Heard>();

/// A message for a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Its position.
    pub position: Position,
    /// The message.
    pub body: Payload,
    /// How many messages before it were lost because the listener did not take them.
    pub lost: u64,
}

/// The number of a listener, assigned by its owner.
pub type ListenerNumber = u64;

/// The listeners of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    of: HashMap<ListenerNumber, Listener>,
    bytes: usize,
    /// Those that have received something since the last call for news.
    news: Vec<ListenerNumber>,
}

#[derive(Debug)]
struct Listener {
    channel: u32,
    waiting: VecDeque<Heard>,
    lost: u64,
}

impl Listeners {
    fn drop_oldest(bytes: &mut usize, listener: &mut Listener) {
        if let Some(oldest) = listener.waiting.pop_front() {
            *bytes -= MESSAGE_BYTES + oldest.body.bytes().len();
            listener.lost += 1 + oldest.lost;
        }
    }

    /// A listener is told with its next message that one was lost, or more.
    pub(super) fn lose(&mut self, number: ListenerNumber) {
        if let Some(listener) = self.of.get_mut(&number) {
            listener.lost += 1;
        }
    }

    /// Gives a message to a listener. Returns how many it lost.
    pub(super) fn put(
        &mut self,
        number: ListenerNumber,
        position: Position,
        body: &Payload,
    ) -> u64 {
        let Some(listener) = self.of.get_mut(&number) else { return 0 };
        let before = listener.lost;
        let size = MESSAGE_BYTES + body.bytes().len();
        while !listener.waiting.is_empty()
            && (listener.waiting.len() >= LISTENER_MESSAGES || self.bytes + size > LISTENERS_BYTES)
        {
            Self::drop_oldest(&mut self.bytes, listener);
        }
        if listener.waiting.is_empty() {
            self.news.push(number);
        }
        self.bytes += size;
        listener.waiting.push_back(Heard { position, body: body.clone(), lost: 0 });
        listener.lost - before
    }
}

impl Channels {
    /// Subscribes the server itself to a channel.
    ///
    /// # Errors
    /// If there is no room.
    pub fn listen(
        &mut self,
        right: &SubscribeRight<'_>,
        number: ListenerNumber,
    ) -> Result<(), ChannelRefusal> {
        self.check_subscriptions()?;
        let place = self.find_or_make(self.rulebook.renew(right.channel()))?;
        let Some(channel) = &mut self.channels[place as usize] else {
            return Err(ChannelRefusal::Full);
        };
        channel.listeners.insert(number);
        let (waiting, lost) = (VecDeque::new(), 0);
        self.listeners.of.insert(number, Listener { channel: place, waiting, lost });
        self.subscriptions += 1;
        self.recount(place);
        Ok(())
    }

    /// Whether a listener's subscription is active, so that it hears every message published from now on. It becomes so
    /// in a turn with letters.
    pub fn is_listening(&self, number: ListenerNumber) -> bool {
        let channel = self.listeners.of.get(&number).map(|listener| listener.channel);
        let channel = channel.and_then(|place| self.channels[place as usize].as_ref());
        channel.is_none_or(Channel::is_known)
    }

    /// The oldest message that a listener has not taken.
    pub fn hear(&mut self, number: ListenerNumber) -> Option<Heard> {
        let listener = self.listeners.of.get_mut(&number)?;
        let mut heard = listener.waiting.pop_front()?;
        self.listeners.bytes -= MESSAGE_BYTES + heard.body.bytes().len();
        heard.lost = std::mem::take(&mut listener.lost);
        Some(heard)
    }

    /// Ends a listener's subscription.
    pub fn stop_listening(&mut self, number: ListenerNumber) {
        let Some(mut listener) = self.listeners.of.remove(&number) else { return };
        while !listener.waiting.is_empty() {
            Listeners::drop_oldest(&mut self.listeners.bytes, &mut listener);
        }
        if let Some(channel) = &mut self.channels[listener.channel as usize] {
            channel.listeners.remove(&number);
        }
        self.subscriptions -= 1;
        self.recount(listener.channel);
    }

    /// The listeners that have received something.
    pub fn take_news(&mut self) -> Vec<ListenerNumber> {
        std::mem::take(&mut self.listeners.news)
    }

    /// Gives a message of a channel to its listeners.
    pub(super) fn tell_listeners(&mut self, place: u32, position: Position, body: &Payload) {
        let Some(channel) = &mut self.channels[place as usize] else { return };
        for number in &channel.listeners {
            let lost = self.listeners.put(*number, position, body);
            self.stats.delivered += 1;
            self.stats.dropped += lost;
            channel.dropped += lost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_take_its_messages_loses_the_oldest_and_is_told() {
        let mut listeners = Listeners::default();
        for number in [1, 2] {
            let listener = Listener { channel: 0, waiting: VecDeque::new(), lost: 0 };
            listeners.of.insert(number, listener);
        }
        let at = |offset| Position { epoch: 1, offset };
        let body = Payload::of_text("x");
        let lost: u64 = (0..LISTENER_MESSAGES as u64 + 5)
            .map(|offset| listeners.put(1, at(offset), &body))
            .sum();
        assert_eq!((lost, listeners.of[&1].waiting.len()), (5, LISTENER_MESSAGES));
        assert_eq!(listeners.of[&1].waiting[0].position, at(5));
        assert_eq!(listeners.news, [1], "it is told once");
        // All of them share a limit, and each keeps its last message.
        let large = Payload::of_binary(&vec![0; LISTENERS_BYTES]);
        for offset in 0..3 {
            listeners.put(2, at(offset), &large);
            assert_eq!(listeners.of[&2].waiting.len(), 1);
        }
        assert_eq!(listeners.of[&2].lost, 2);
        assert_eq!(listeners.put(3, at(0), &body), 0, "one that has gone");
    }
}
