//! Clients that publish by HTTP, and what was published.
//!
//! Owns what is known of each message: its text, and its position in its channel, which must be the same for every
//! client.

use std::collections::{BTreeMap, VecDeque};

use world::{ClientId, ClientState, World};

use crate::response::{Asked, Input, parse};
use crate::subscriber::{Position, position};

/// The published texts by position, and the positions by text.
#[derive(Default)]
pub(crate) struct Truth {
    texts: BTreeMap<(String, Position), String>,
    places: BTreeMap<String, Position>,
    repeats: Repeats,
}

/// Whether a text may get a second position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repeats {
    #[default]
    Never,
    /// In another epoch: a message that NATS has lost, and whose publisher has not heard of it, is published again.
    InAnotherEpoch,
}

impl Truth {
    /// That of a cluster.
    pub(crate) fn of_cluster() -> Self {
        Self { repeats: Repeats::InAnotherEpoch, ..Self::default() }
    }

    /// A client received a text at a position, or was told that it is there.
    pub(crate) fn note(&mut self, channel: &str, at: &Position, text: &str) {
        let place = (channel.to_owned(), at.clone());
        let known = self.texts.entry(place).or_insert_with(|| text.to_owned());
        assert_eq!(known, text, "all hear the same at {channel} {at:?}");
        let before = self.places.insert(text.to_owned(), at.clone());
        let may_differ = self.repeats == Repeats::InAnotherEpoch;
        let is_right = |before: &Position| before == at || may_differ && before.0 != at.0;
        assert!(
            before.as_ref().is_none_or(is_right),
            "{text} is published once: {before:?} {at:?}"
        );
    }

    /// Whether a text is at a position, as far as any client was told.
    pub(crate) fn is_at(&self, channel: &str, at: Position, text: &str) -> bool {
        self.texts.get(&(channel.to_owned(), at)).is_some_and(|known| known == text)
    }

    /// The position of a text, if a client was told.
    pub(crate) fn place(&self, text: &str) -> Option<&Position> {
        self.places.get(text)
    }
}

/// Whether a connection continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onward {
    Stays,
    Ended,
}

/// A connection that publishes, with its unanswered messages.
pub(crate) struct Publisher {
    pub(crate) id: ClientId,
    input: Vec<u8>,
    sent: VecDeque<(String, String)>,
}

impl Publisher {
    pub(crate) fn new(id: ClientId) -> Self {
        Self { id, input: Vec::new(), sent: VecDeque::new() }
    }

    pub(crate) fn publish(&mut self, world: &World, channel: &str, text: String) {
        let length = text.len();
        let head = format!(
            "POST /channels/{channel} HTTP/1.1\r\nHost: example.test\r\nContent-Length: {length}\r\n\r\n"
        );
        world.client_send(self.id, &[head.as_bytes(), text.as_bytes()].concat());
        self.sent.push_back((channel.to_owned(), text));
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.sent.is_empty()
    }

    /// Reads its answers.
    pub(crate) fn read(&mut self, world: &World, truth: &mut Truth) -> Onward {
        self.input.extend(world.client_received(self.id));
        let mut ends = world.client_state(self.id) != ClientState::Open;
        while let Some(answer) = parse(&self.input, Asked::Body, Input::Open) {
            self.input.drain(..answer.length);
            ends |= answer.closes();
            let (channel, text) = self.sent.pop_front().expect("it asked");
            if answer.status == 200 {
                let answered: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
                let at = position(answered["since"].as_str().unwrap());
                truth.note(&channel, &at, &text);
            } else {
                assert_eq!(answer.status, 503, "{answer:?}");
            }
        }
        if ends {
            world.client_close(self.id);
            return Onward::Ended;
        }
        Onward::Stays
    }
}
