//! Pages subscribe to channels and receive messages.
//!
//! Owns the meaning of their waits, and the form in which a message is handed over. The tables of
//! subscriptions are in `listening`.

use std::time::Duration;

use channels::{Heard, ListenerNumber, PayloadType};

use super::Runner;
use super::calls::{Caller, PageCall, call};
use crate::delivery::{Delivery, WaitOutcome};
use crate::listening::ChannelWish;

pub(super) const CALLS: &[PageCall] = &[
    call!("channel.subscribe"(name: text) -> ValueOrReason, "a channel", Any, Runner::listen),
    call!("messages.receive"(number: number, time: time_or_none) -> AsGiven, "a message of a \
        channel", Any, Runner::hear),
    call!("messages.close"(number: number) -> Values, "a channel", Any, Runner::stop_listening),
];

/// The answer to a page that uses a subscription which it has closed, or which belongs to another page.
const CLOSED: Delivery = Delivery::Failed("the subscription is closed");

impl Runner {
    /// A page wants to subscribe to a channel.
    fn listen(&mut self, caller: &mut Caller<'_>, name: Vec<u8>) -> WaitOutcome {
        if !self.listening.subscribe(caller.key, name) {
            return WaitOutcome::Now(Delivery::Refused("a page has at most 16 subscriptions"));
        }
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// A page waits for the next message.
    fn hear(
        &mut self,
        caller: &mut Caller<'_>,
        number: ListenerNumber,
        time: Option<Duration>,
    ) -> WaitOutcome {
        if !self.listening.hear(caller.key, number) {
            return WaitOutcome::Now(CLOSED);
        }
        WaitOutcome::Later { due_ns: caller.after(time) }
    }

    /// A page ends a subscription.
    fn stop_listening(&mut self, caller: &mut Caller<'_>, number: ListenerNumber) -> WaitOutcome {
        self.listening.stop(caller.key, number);
        WaitOutcome::Now(Delivery::Done)
    }

    /// The requests of pages to channels since the last call.
    pub fn take_channel_wishes(&mut self) -> Vec<ChannelWish> {
        self.listening.take_wishes()
    }

    /// Tells a page that it is subscribed, or why not.
    pub fn tell_listening(&mut self, number: ListenerNumber, outcome: Result<(), &'static str>) {
        let Some(key) = self.listening.take_waiting(number) else { return };
        let delivery = match outcome {
            Ok(()) => Delivery::Text(number.to_string().into_bytes()),
            Err(why) => {
                self.listening.lose(key, number);
                Delivery::Refused(why)
            }
        };
        self.hand_over(key, delivery);
    }

    /// Whether a page waits for a message of this subscription.
    pub fn is_hearing(&self, number: ListenerNumber) -> bool {
        self.listening.is_waiting(number)
    }

    /// Gives a page the message it waits for.
    pub fn tell_heard(&mut self, number: ListenerNumber, heard: &Heard) {
        let Some(key) = self.listening.take_waiting(number) else { return };
        let kind: &[u8] = match heard.body.kind() {
            PayloadType::Json => b"json",
            PayloadType::Text | PayloadType::Binary => b"text",
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
