//! Requests that wait for the answer to another one (collapsed requests, RFC 9111 section 4).
//!
//! Owns who fetches and who waits. `P` is what waits: a process, or a number in tests. Never sends and never wakes:
//! those that have to look again are returned.

use std::rc::Rc;

use ahash::HashMap;
use wire::http::fields::FieldList;

use crate::decision::{Credentials, Use, may_answer, use_of, wishes_of};
use crate::key::AnswerKey;
use crate::limits::{FETCHES_OF_URI, WAITERS};
use crate::looked::CacheQuery;
use crate::object::Object;
use crate::rules::RequestDirectives;
use crate::storing::StorageTerms;
use crate::time::Time;

/// The number of a fetch, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchId(u64);

/// A fetch.
#[derive(Clone, Debug)]
pub struct Fetched<P> {
    /// The key of its request.
    pub key: AnswerKey,
    /// The fields of its request, by which the variant of its answer is known.
    pub request: FieldList,
    /// The stored answer that it validates.
    pub validated: Option<Rc<Object>>,
    /// When it began.
    pub asked: Time,
    /// Whether its answer may be stored.
    pub worth: Worth,
    /// Requests that wait for its head.
    pub waiters: Vec<P>,
    /// The terms of its answer, once its head is there.
    terms: Option<StorageTerms>,
}

impl<P> Fetched<P> {
    /// Whether its answer is probably for nobody else, as the one that it validates is to be validated for each
    /// request.
    fn is_for_one(&self) -> bool {
        self.validated.as_ref().is_some_and(|object| !object.freshness().is_ever_fresh())
    }
}

/// Whether an answer may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// It may.
    Storing,
    /// Its resource was changed or purged after it was asked for.
    Spoilt,
}

/// The next step of a request whose answer is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It fetches: [`Fetches::begin`].
    Lead,
    /// It waits for the head of this fetch, and then looks again.
    Wait(FetchId),
    /// It gets the answer that this fetch is receiving.
    Read(FetchId),
    /// It goes by itself.
    Alone,
}

/// Whether other requests may wait for a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They may.
    Shared,
    /// They may not: its answer is probably for nobody else.
    Alone,
}

/// The fetches that run.
#[derive(Debug)]
pub struct Fetches<P> {
    running: HashMap<FetchId, Fetched<P>>,
    by_text: HashMap<Rc<str>, Vec<FetchId>>,
    last: u64,
}

impl<P> Default for Fetches<P> {
    fn default() -> Self {
        Self { running: HashMap::default(), by_text: HashMap::default(), last: 0 }
    }
}

impl<P: Copy + Eq> Fetches<P> {
    /// The next step of a request. It reads an answer only that is fresh for it; what is to be validated for each
    /// request it has by itself. `directives`: whether its own count.
    pub fn join(&mut self, asked: &CacheQuery<'_>, directives: RequestDirectives, who: P) -> Join {
        let CacheQuery { key, fields, now } = *asked;
        let Some(ids) = self.by_text.get(key.text()) else { return Join::Lead };
        let shown = Credentials::of(fields);
        for id in ids {
            let Some(fetch) = self.running.get_mut(id).filter(|fetch| fetch.key == *key) else {
                continue;
            };
            if fetch.worth == Worth::Spoilt {
                continue;
            }
            match &fetch.terms {
                Some(terms) if terms.variant.matches(fields) => {
                    let wishes = wishes_of(fields, directives);
                    let may_read = may_answer(terms, shown)
                        && use_of(&terms.freshness, &wishes, now) == Use::Fresh;
                    return if may_read { Join::Read(*id) } else { Join::Alone };
                }
                Some(_) => {}
                // The answer to a request of a user is perhaps for nobody else.
                None if Credentials::of(&fetch.request.fields()).exceed(shown) => {}
                None if fetch.is_for_one() || fetch.waiters.len() >= WAITERS => return Join::Alone,
                None => {
                    fetch.waiters.push(who);
                    return Join::Wait(*id);
                }
            }
        }
        if ids.len() < FETCHES_OF_URI { Join::Lead } else { Join::Alone }
    }

    /// Whether a fetch for this key runs.
    pub fn has(&self, key: &AnswerKey) -> bool {
        let ids = self.by_text.get(key.text());
        let mut running = ids.into_iter().flatten().filter_map(|id| self.running.get(id));
        running.any(|fetch| fetch.key == *key)
    }

    /// A fetch begins.
    pub fn begin(
        &mut self,
        key: AnswerKey,
        request: FieldList,
        validated: Option<Rc<Object>>,
        (sharing, asked): (Sharing, Time),
    ) -> FetchId {
        self.last += 1;
        let id = FetchId(self.last);
        if sharing == Sharing::Shared {
            self.by_text.entry(Rc::clone(key.text())).or_default().push(id);
        }
        let (worth, waiters) = (Worth::Storing, Vec::new());
        let fetch = Fetched { key, request, validated, asked, worth, waiters, terms: None };
        self.running.insert(id, fetch);
        id
    }

    /// A fetch.
    pub fn get(&self, id: FetchId) -> Option<&Fetched<P>> {
        self.running.get(&id)
    }

    /// A fetch has to be repeated without conditions.
    pub fn forget_validated(&mut self, id: FetchId) {
        if let Some(fetch) = self.running.get_mut(&id) {
            fetch.validated = None;
        }
    }

    /// The head of a fetch is there, and its answer is stored on these terms. Those that wait look again.
    pub fn know(&mut self, id: FetchId, terms: StorageTerms) -> Vec<P> {
        let Some(fetch) = self.running.get_mut(&id) else { return Vec::new() };
        fetch.terms = Some(terms);
        std::mem::take(&mut fetch.waiters)
    }

    /// The terms of a fetch whose head is there.
    pub fn terms(&self, id: FetchId) -> Option<&StorageTerms> {
        self.running.get(&id)?.terms.as_ref()
    }

    /// A request does not wait any longer.
    pub fn leave(&mut self, id: FetchId, who: P) {
        if let Some(fetch) = self.running.get_mut(&id) {
            fetch.waiters.retain(|waiter| *waiter != who);
        }
    }

    /// A fetch is over. Those that wait, if any, look again.
    pub fn end(&mut self, id: FetchId) -> Option<Fetched<P>> {
        let fetch = self.running.remove(&id)?;
        if let Some(ids) = self.by_text.get_mut(fetch.key.text()) {
            ids.retain(|known| *known != id);
            if ids.is_empty() {
                self.by_text.remove(fetch.key.text());
            }
        }
        Some(fetch)
    }

    /// Answers of fetches with such a key are not stored any more, because they may be older than a change. Those that
    /// wait for one look again.
    pub fn spoil(&mut self, is_spoilt: impl Fn(&AnswerKey) -> bool) -> Vec<P> {
        let mut called = Vec::new();
        for fetch in self.running.values_mut().filter(|fetch| is_spoilt(&fetch.key)) {
            fetch.worth = Worth::Spoilt;
            called.append(&mut fetch.waiters);
        }
        called
    }

    /// The number of fetches.
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Whether none runs.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }
}
