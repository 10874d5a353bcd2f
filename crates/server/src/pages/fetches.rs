//! What pages wait for from other servers.
//!
//! Owns who waits for which fetch, and the form in which he gets its outcome. The client is met at the end of a turn.

use std::time::Duration;

use ahash::HashMap;
use script::engine::{Fetch, Reply};

use super::process::{Delivery, Key, Life};
use super::runner::{Moment, Runner};
use super::waits::Met;
use crate::fetch::{Answer, Asked, Client, Failure, Number};
use crate::limits::FETCHES_OF_PROCESSES;

/// What came of a fetch, as its page gets it.
pub(super) enum Fetched {
    /// The status as text, and the rest of the answer.
    Answer(String, Answer),
    /// Why there is no answer.
    Failure(String),
}

impl Fetched {
    fn of(result: Result<Answer, Failure>) -> Self {
        match result {
            Ok(answer) => Self::Answer(answer.status.to_string(), answer),
            Err(failure) => Self::Failure(failure.to_string()),
        }
    }

    /// As the engine takes it.
    pub(super) fn reply_to<T>(&self, resume: impl FnOnce(Reply<'_>) -> T) -> T {
        match self {
            Self::Answer(status, answer) => {
                resume(Reply::Texts(&[status.as_bytes(), &answer.fields, &answer.body]))
            }
            Self::Failure(why) => resume(Reply::Failed(why)),
        }
    }
}

/// The fetches of pages, each of which waits for one at a time.
#[derive(Default)]
pub(super) struct Fetches {
    of: HashMap<Key, Number>,
    waiting: HashMap<Number, Key>,
    wanted: Vec<(Key, Asked)>,
    unwanted: Vec<Number>,
}

impl Fetches {
    fn want(&mut self, key: Key, fetch: Fetch) {
        let Fetch { method, url, fields, body, timeout } = fetch;
        self.wanted.push((key, Asked { method, url, fields, body, timeout }));
    }

    /// How many of them are of processes.
    fn of_processes(&self) -> usize {
        let keys = self.of.keys().chain(self.wanted.iter().map(|(key, _)| key));
        keys.filter(|key| matches!(key, Key::Spawned(_))).count()
    }

    /// A page has ended; perhaps it waited.
    pub(super) fn unwant(&mut self, key: Key) {
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
            self.of.insert(key, number);
            self.waiting.insert(number, key);
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
        let is_of_process = matches!(key, Key::Spawned(_));
        if is_of_process && self.fetches.of_processes() >= FETCHES_OF_PROCESSES {
            let failure = Fetched::Failure(Failure::TooMany.to_string());
            return Met::Now(Delivery::Fetched(Box::new(failure)));
        }
        // With the page's own time the fetch ends, too.
        let left_ns = life.deadline_ns.saturating_sub(moment.now_ns).saturating_add(1);
        fetch.timeout = fetch.timeout.min(Duration::from_nanos(left_ns));
        self.fetches.want(key, fetch);
        Met::Later { due_ns: u64::MAX }
    }

    /// At the end of a turn, behind all pages: what they want of other servers is begun.
    pub fn begin_fetches(&mut self, client: &mut Client, now_ns: u64) {
        self.fetches.tell(client, now_ns);
    }

    /// At the end of a turn: who has got what he waited for goes on.
    pub fn take_fetched(&mut self, client: &mut Client, now_ns: u64) {
        for (number, result) in client.outcomes(now_ns) {
            if let Some(key) = self.fetches.settle(number) {
                self.hand_over(key, Delivery::Fetched(Box::new(Fetched::of(result))));
            }
        }
    }
}
