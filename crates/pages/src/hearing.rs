//! Pages subscribe to channels and receive messages.
//!
//! Owns the meaning of their waits, and the form in which a message is handed over. The tables of
//! subscriptions are in `listening`.

use channels::{Heard, Kind, ListenerNumber};

use super::delivery::{Delivery, WaitOutcome};
use super::listening::ChannelWish;
use super::process::Key;
use super::runner::Runner;
use crate::limits::LISTENING_PER_PAGE;

/// The answer to a page that uses a subscription which it has closed, or which belongs to another page.
const CLOSED: Delivery = Delivery::Failed("the subscription is closed");

impl Runner {
    /// A page wants to subscribe to a channel.
    pub(super) fn listen(&mut self, key: Key, name: Vec<u8>) -> WaitOutcome {
        let listening = &mut self.listening;
        let numbers = listening.of.entry(key).or_default();
        if numbers.len() >= LISTENING_PER_PAGE {
            return WaitOutcome::Now(Delivery::Refused("a page has at most 16 subscriptions"));
        }
        listening.last += 1;
        let number = listening.last;
        numbers.push(number);
        listening.waiting.insert(number, key);
        listening.wishes.push(ChannelWish::Listen(number, name));
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// A page waits for the next message.
    pub(super) fn hear(&mut self, key: Key, number: ListenerNumber, due_ns: u64) -> WaitOutcome {
        if !self.listening.has(key, number) {
            return WaitOutcome::Now(CLOSED);
        }
        self.listening.waiting.insert(number, key);
        self.listening.wishes.push(ChannelWish::Hear(number));
        WaitOutcome::Later { due_ns }
    }

    /// A page ends a subscription.
    pub(super) fn stop_listening(&mut self, key: Key, number: ListenerNumber) -> WaitOutcome {
        let listening = &mut self.listening;
        if listening.has(key, number)
            && let Some(numbers) = listening.of.get_mut(&key)
        {
            numbers.retain(|known| *known != number);
            listening.wishes.push(ChannelWish::Stop(number));
        }
        WaitOutcome::Now(Delivery::Done)
    }

    /// The requests of pages to channels since the last call.
    pub fn take_channel_wishes(&mut self) -> Vec<ChannelWish> {
        std::mem::take(&mut self.listening.wishes)
    }

    /// Tells a page that it is subscribed, or why not.
    pub fn tell_listening(&mut self, number: ListenerNumber, outcome: Result<(), &'static str>) {
        let Some(key) = self.listening.waiting.remove(&number) else { return };
        let delivery = match outcome {
            Ok(()) => Delivery::Text(number.to_string().into_bytes()),
            Err(why) => {
                if let Some(numbers) = self.listening.of.get_mut(&key) {
                    numbers.retain(|known| *known != number);
                }
                Delivery::Refused(why)
            }
        };
        self.hand_over(key, delivery);
    }

    /// Whether a page waits for a message of this subscription.
    #[must_use]
    pub fn is_hearing(&self, number: ListenerNumber) -> bool {
        self.listening.waiting.contains_key(&number)
    }

    /// Gives a page the message it waits for.
    pub fn tell_heard(&mut self, number: ListenerNumber, heard: &Heard) {
        let Some(key) = self.listening.waiting.remove(&number) else { return };
        let kind: &[u8] = match heard.body.kind() {
            Kind::Json => b"json",
            Kind::Text | Kind::Binary => b"text",
        };
        // Its number, its kind, how many before it were lost, and its bytes.
        let texts = [
            heard.position.offset.to_string().into_bytes(),
            kind.to_vec(),
            heard.lost.to_string().into_bytes(),
            heard.body.bytes().to_vec(),
        ];
        self.hand_over(key, Delivery::Texts(Box::new(texts)));
    }
}
