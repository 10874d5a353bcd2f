//! Which pages wait for which fetches.
//!
//! Owns the two tables for that, and what the client is told at the end of a turn. Never resumes a
//! page.

use actors::RunKey;
use ahash::HashMap;

use crate::fetch::{FetchRequest, Number, PageFetches, ResponseDelivery};

/// The fetches of pages. Each page waits for one at a time.
#[derive(Default)]
pub(super) struct Fetches {
    of: HashMap<RunKey, Number>,
    waiting: HashMap<Number, Waiting>,
    /// Answers that pages read piece by piece and have not read to the end, including those whose heads have not
    /// arrived.
    streams: HashMap<RunKey, Vec<Number>>,
    wanted: Vec<(RunKey, FetchRequest)>,
    /// The answers of which the next piece is wanted.
    wanted_pieces: Vec<(RunKey, Number)>,
    unwanted: Vec<Number>,
}

/// A page that waits.
struct Waiting {
    key: RunKey,
    /// The server, if it is asked over TLS.
    server: Option<Box<str>>,
}

impl Fetches {
    /// Requests a fetch, which begins at the end of the turn.
    pub(super) fn want(&mut self, key: RunKey, asked: FetchRequest) {
        self.wanted.push((key, asked));
    }

    /// The number of answers that a page reads piece by piece.
    pub(super) fn streams(&self, key: RunKey) -> usize {
        self.streams.get(&key).map_or(0, Vec::len)
    }

    fn has_stream(&self, key: RunKey, number: Number) -> bool {
        self.streams.get(&key).is_some_and(|numbers| numbers.contains(&number))
    }

    /// A page wants the next piece of an answer. Returns whether this page has such an answer.
    pub(super) fn want_piece(&mut self, key: RunKey, number: Number) -> bool {
        let has_stream = self.has_stream(key, number);
        if has_stream {
            self.wanted_pieces.push((key, number));
        }
        has_stream
    }

    /// A page does not want the rest of an answer.
    pub(super) fn close(&mut self, key: RunKey, number: Number) {
        if self.has_stream(key, number) {
            self.forget_stream(key, number);
            self.unwanted.push(number);
        }
    }

    /// A page has read an answer to its end, or gives it up.
    pub(super) fn forget_stream(&mut self, key: RunKey, number: Number) {
        let Some(numbers) = self.streams.get_mut(&key) else { return };
        numbers.retain(|known| *known != number);
        if numbers.is_empty() {
            self.streams.remove(&key);
        }
    }

    /// A page has ended, perhaps while it waited or before the end of an answer.
    pub(super) fn unwant(&mut self, key: RunKey) {
        if self.streams.is_empty() && self.of.is_empty() && self.wanted.is_empty() {
            // Most pages fetch nothing, and every one that ends comes here.
            return;
        }
        if let Some(numbers) = self.streams.remove(&key) {
            self.wanted_pieces.retain(|(of, _)| *of != key);
            self.unwanted.extend(numbers);
        }
        if let Some(number) = self.of.remove(&key) {
            self.waiting.remove(&number);
            self.unwanted.push(number);
        } else if !self.wanted.is_empty() {
            self.wanted.retain(|(of, _)| *of != key);
        }
    }

    /// Tells the client which fetches are wanted, and which no longer are.
    pub(super) fn tell(&mut self, client: &mut PageFetches, now_ns: u64) {
        for number in self.unwanted.drain(..) {
            client.give_up(number);
        }
        // Taken, so that a turn in which many fetches began leaves no large list behind.
        for (key, asked) in std::mem::take(&mut self.wanted) {
            let number = client.begin(&asked, now_ns);
            if asked.wanted == ResponseDelivery::Pieces {
                self.streams.entry(key).or_default().push(number);
            }
            self.of.insert(key, number);
            self.waiting.insert(number, Waiting { key, server: asked.secure_server() });
        }
        for (key, number) in std::mem::take(&mut self.wanted_pieces) {
            self.of.insert(key, number);
            self.waiting.insert(number, Waiting { key, server: None });
            client.read_on(number, now_ns);
        }
    }

    /// A fetch has an outcome: returns the page that waited for it, and the server, if it was asked over TLS.
    pub(super) fn settle(&mut self, number: Number) -> Option<(RunKey, Option<Box<str>>)> {
        let waiting = self.waiting.remove(&number)?;
        self.of.remove(&waiting.key);
        Some((waiting.key, waiting.server))
    }
}
