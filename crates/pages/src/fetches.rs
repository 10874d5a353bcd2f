//! What pages wait for from other servers.
//!
//! Owns who waits for which fetch, and the form in which he gets its outcome. The client is met at the end of a turn.

use std::time::Duration;

use ahash::HashMap;
use script::engine::{BodyDelivery, Fetch, Reply};

use super::process::{Delivery, Key, Life};
use super::runner::{Moment, Runner};
use super::waits::Met;
use crate::fetch::{Answer, Asked, Client, Failure, Got, Number, Owner, Wanted};
use crate::limits::FETCH_STREAMS_PER_PAGE;

/// What a page is told that reads an answer which is over, or is another's.
const CLOSED: &str = "the answer is closed";

/// What came of a fetch, as its page gets it.
pub(super) enum Fetched {
    /// The status as text, and the rest of the answer.
    Answer(String, Answer),
    /// The same of an answer without its body, and the number by which that is read.
    Stream(String, Answer, String),
    /// A piece of it.
    Piece(Vec<u8>),
    /// The end of it.
    End,
    /// Why there is no answer.
    Failure(String),
}

impl Fetched {
    fn of(number: Number, result: Result<Got, Failure>) -> Self {
        match result {
            Ok(Got::Whole(answer)) => Self::Answer(answer.status.to_string(), answer),
            Ok(Got::Head(answer)) => {
                Self::Stream(answer.status.to_string(), answer, number.0.to_string())
            }
            Ok(Got::Piece(piece)) => Self::Piece(piece),
            Ok(Got::End) => Self::End,
            Err(failure) => Self::Failure(failure.to_string()),
        }
    }

    /// As the engine takes it.
    pub(super) fn reply_to<T>(&self, resume: impl FnOnce(Reply<'_>) -> T) -> T {
        match self {
            Self::Answer(status, answer) => {
                resume(Reply::Texts(&[status.as_bytes(), &answer.fields, &answer.body]))
            }
            Self::Stream(status, answer, number) => {
                resume(Reply::Texts(&[status.as_bytes(), &answer.fields, b"", number.as_bytes()]))
            }
            Self::Piece(piece) => resume(Reply::Texts(&[piece])),
            Self::End => resume(Reply::Nothing),
            Self::Failure(why) => resume(Reply::Failed(why)),
        }
    }
}

/// The fetches of pages, each of which waits for one at a time.
#[derive(Default)]
pub(super) struct Fetches {
    of: HashMap<Key, Number>,
    waiting: HashMap<Number, Key>,
    /// Answers that pages read piece by piece and have not come to the end of, those whose heads have not come among them.
    streams: HashMap<Key, Vec<Number>>,
    wanted: Vec<(Key, Asked)>,
    /// Of which answers the next piece is wanted.
    wanted_pieces: Vec<(Key, Number)>,
    unwanted: Vec<Number>,
}

impl Fetches {
    fn want(&mut self, key: Key, fetch: Fetch) {
        let Fetch { method, url, fields, body, timeout, delivery } = fetch;
        let wanted = match delivery {
            BodyDelivery::Whole => Wanted::Whole,
            BodyDelivery::Pieces => Wanted::Pieces,
        };
        let owner = match key {
            Key::Request(_) => Owner::Request,
            Key::Spawned(_) => Owner::Process,
        };
        self.wanted.push((key, Asked { method, url, fields, body, timeout, wanted, owner }));
    }

    fn has_stream(&self, key: Key, number: Number) -> bool {
        self.streams.get(&key).is_some_and(|numbers| numbers.contains(&number))
    }

    /// A page has come to the end of an answer, or gives it up.
    fn forget_stream(&mut self, key: Key, number: Number) {
        let Some(numbers) = self.streams.get_mut(&key) else { return };
        numbers.retain(|known| *known != number);
        if numbers.is_empty() {
            self.streams.remove(&key);
        }
    }

    /// A page has ended; perhaps it waited, or had not come to the end of an answer.
    pub(super) fn unwant(&mut self, key: Key) {
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

    /// Says what is wanted, and what is not any more.
    fn tell(&mut self, client: &mut Client, now_ns: u64) {
        for number in self.unwanted.drain(..) {
            client.give_up(number);
        }
        // Taken, so that a turn in which many began leaves no large list behind.
        for (key, asked) in std::mem::take(&mut self.wanted) {
            let number = client.begin(&asked, now_ns);
            if asked.wanted == Wanted::Pieces {
                self.streams.entry(key).or_default().push(number);
            }
            self.of.insert(key, number);
            self.waiting.insert(number, key);
        }
        for (key, number) in std::mem::take(&mut self.wanted_pieces) {
            self.of.insert(key, number);
            self.waiting.insert(number, key);
            client.read_on(number, now_ns);
        }
    }

    fn settle(&mut self, number: Number) -> Option<Key> {
        let key = self.waiting.remove(&number)?;
        self.of.remove(&key);
        Some(key)
    }
}

impl Runner {
    /// Has something fetched, at the end of the turn.
    pub(super) fn begin_fetch(
        &mut self,
        mut fetch: Fetch,
        key: Key,
        life: &Life,
        moment: Moment,
    ) -> Met {
        let streams = self.fetches.streams.get(&key).map_or(0, Vec::len);
        if fetch.delivery == BodyDelivery::Pieces && streams >= FETCH_STREAMS_PER_PAGE {
            let failure = Fetched::Failure(Failure::TooMany.to_string());
            return Met::Now(Delivery::Fetched(Box::new(failure)));
        }
        // With the page's own time the fetch ends, too.
        let left_ns = life.deadline_ns.saturating_sub(moment.now_ns).saturating_add(1);
        fetch.timeout = fetch.timeout.min(Duration::from_nanos(left_ns));
        self.fetches.want(key, fetch);
        Met::Later { due_ns: u64::MAX }
    }

    /// A page wants the next piece of an answer.
    pub(super) fn read_fetched(&mut self, key: Key, number: u64) -> Met {
        let number = Number(number);
        if !self.fetches.has_stream(key, number) {
            let failure = Fetched::Failure(CLOSED.to_owned());
            return Met::Now(Delivery::Fetched(Box::new(failure)));
        }
        self.fetches.wanted_pieces.push((key, number));
        Met::Later { due_ns: u64::MAX }
    }

    /// A page does not want the rest of an answer.
    pub(super) fn close_fetched(&mut self, key: Key, number: u64) -> Met {
        let number = Number(number);
        if self.fetches.has_stream(key, number) {
            self.fetches.forget_stream(key, number);
            self.fetches.unwanted.push(number);
        }
        Met::Now(Delivery::Done)
    }

    /// At the end of a turn, behind all pages: what they want of other servers is begun.
    pub fn begin_fetches(&mut self, client: &mut Client, now_ns: u64) {
        self.fetches.tell(client, now_ns);
    }

    /// At the end of a turn: who has got what he waited for goes on.
    pub fn take_fetched(&mut self, client: &mut Client, now_ns: u64) {
        for (number, result) in client.outcomes(now_ns) {
            let Some(key) = self.fetches.settle(number) else { continue };
            if matches!(result, Ok(Got::End) | Err(_)) {
                self.fetches.forget_stream(key, number);
            }
            self.hand_over(key, Delivery::Fetched(Box::new(Fetched::of(number, result))));
        }
    }
}
