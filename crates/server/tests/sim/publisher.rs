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
}

impl Truth {
    /// A client received a text at a position, or was told that it is there.
    pub(crate) fn note(&mut self, channel: &str, at: &Position, text: &str) {
        let place = (channel.to_owned(), at.clone());
        let known = self.texts.entry(place).or_insert_with(|| text.to_owned());
        assert_eq!(known, text, "all hear the same at {channel} {at:?}");
        let known = self.places.entry(text.to_owned()).or_insert_with(|| at.clone());
        assert_eq!(known, at, "{text} is published once");
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
                truth.note(&channel, &position(answered["since"].as_str().unwrap()), &text);
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
