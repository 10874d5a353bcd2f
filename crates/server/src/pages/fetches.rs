//! What pages wait for from other servers.
//!
//! Owns who waits for which fetch, and the form in which he gets its outcome. The client is met at the end of a turn.

use std::time::Duration;

use ahash::HashMap;
use script::engine::{Fetch, Reply};

use super::process::{Delivery, Key, Life};
use super::runner::{Moment, Runner};
use super::waits::Met;
use crate::fetch::{Answer, Asked, Client, Failure, Owner};

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

/// The fetches of pages. Each has a number of its own, so that none gets what a former one asked for.
#[derive(Default)]
pub(super) struct Fetches {
    last: u64,
    of: HashMap<Key, Owner>,
    waiting: HashMap<Owner, Key>,
    wanted: Vec<(Owner, Asked)>,
    unwanted: Vec<Owner>,
}

impl Fetches {
    fn want(&mut self, key: Key, fetch: Fetch) {
        self.last += 1;
        let owner = Owner(self.last);
        self.of.insert(key, owner);
        self.waiting.insert(owner, key);
        let Fetch { method, url, fields, body, timeout } = fetch;
        self.wanted.push((owner, Asked { method, url, fields, body, timeout }));
    }

    /// A page has ended; perhaps it waited.
    pub(super) fn unwant(&mut self, key: Key) {
        if let Some(owner) = self.of.remove(&key) {
            self.waiting.remove(&owner);
            self.unwanted.push(owner);
        }
    }

    /// Says what is wanted, and what is not any more.
    fn tell(&mut self, client: &mut Client, now_ns: u64) {
        // Taken, so that a turn in which many began leaves no large list behind.
        for (owner, asked) in std::mem::take(&mut self.wanted) {
            client.begin(owner, &asked, now_ns);
        }
        for owner in self.unwanted.drain(..) {
            client.give_up(owner);
        }
    }

    fn settle(&mut self, owner: Owner) -> Option<Key> {
        let key = self.waiting.remove(&owner)?;
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
        for (owner, result) in client.outcomes(now_ns) {
            if let Some(key) = self.fetches.settle(owner) {
                self.hand_over(key, Delivery::Fetched(Box::new(Fetched::of(result))));
            }
        }
    }
}
