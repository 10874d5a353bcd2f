//! The stored answers of one cache.
//!
//! Owns which of them a request may have, and when they leave: for want of room, after a change of their resource, by a
//! purge. Never asks a server.

use std::rc::Rc;

use ahash::{HashMap, RandomState};
use wire::http::head::Fields;

use crate::body::{Outside, Reservation};
use crate::decision::{Credentials, Use, may_answer, use_of, wishes_of};
use crate::key::AnswerKey;
use crate::limits::{ARRIVING_PART, FAILED_MS, PASSED_MS, SWEPT, VARIANTS};
use crate::looked::{CacheLookup, CacheQuery, OutsideOutcome};
use crate::object::Object;
use crate::passes::Passes;
use crate::pattern::PurgePattern;
use crate::purges::Purges;
use crate::report::ForwardReason;
use crate::rules::CacheRules;
use crate::shelf::{Shelf, ValuePlace};
use crate::stats::CacheStats;
use crate::time::Time;

/// A cache.
#[derive(Debug)]
pub struct Cache {
    rules: CacheRules,
    secret: RandomState,
    shelf: Shelf<Entry>,
    /// The answers of each key, the youngest last.
    by_text: HashMap<Rc<str>, Vec<ValuePlace>>,
    passes: Passes,
    purges: Purges,
    /// Distinguishes answers that were stored before a purge.
    number: u64,
    /// Bytes of answers that are being received, and of those that clients still read though they were forgotten.
    outside: Outside,
    stats: CacheStats,
}

#[derive(Debug)]
struct Entry {
    key: AnswerKey,
    object: Rc<Object>,
    number: u64,
}

impl Cache {
    /// An empty one.
    pub fn new(rules: CacheRules) -> Self {
        Self {
            shelf: Shelf::new(rules.memory),
            rules,
            secret: RandomState::new(),
            by_text: HashMap::default(),
            passes: Passes::default(),
            purges: Purges::default(),
            number: 1,
            outside: Outside::default(),
            stats: CacheStats::default(),
        }
    }

    /// Its rules.
    pub fn rules(&self) -> &CacheRules {
        &self.rules
    }

    /// Sets other rules. If other parts of a request distinguish it, everything is forgotten.
    pub fn set_rules(&mut self, rules: CacheRules) {
        if rules.key != self.rules.key {
            self.purge(PurgePattern::everything());
        }
        self.shelf.set_capacity(rules.memory);
        self.rules = rules;
        self.make_room(0);
    }

    /// Finds an answer.
    pub fn look(&mut self, asked: &CacheQuery<'_>) -> CacheLookup {
        let (wishes, hash) =
            (wishes_of(asked.fields, self.rules.directives), asked.key.hash(&self.secret));
        let (mut is_known, mut found) = (false, None);
        self.drop_purged_of(asked.key);
        for place in self.by_text.get(asked.key.text()).into_iter().flatten().rev() {
            let Some(entry) = self.shelf.get(*place).filter(|entry| entry.key == *asked.key) else {
                continue;
            };
            is_known = true;
            if entry.object.variant().matches(asked.fields) {
                found = Some((*place, Rc::clone(&entry.object)));
                break;
            }
        }
        let Some((place, object)) = found else {
            if wishes.only_if_cached {
                return CacheLookup::Unwanted;
            }
            if self.passes.has(hash, asked.now.ms) {
                self.stats.passes += 1;
                return CacheLookup::Pass;
            }
            self.stats.misses += 1;
            let why = if is_known { ForwardReason::VaryMiss } else { ForwardReason::UriMiss };
            return CacheLookup::Missing(why);
        };
        if !may_answer(object.terms(), Credentials::of(asked.fields)) {
            self.stats.passes += 1;
            return CacheLookup::Pass;
        }
        self.shelf.note_use(place);
        match use_of(object.freshness(), &wishes, asked.now) {
            Use::Fresh => {
                self.stats.hits += 1;
                CacheLookup::Fresh(object)
            }
            _ if wishes.only_if_cached => CacheLookup::Unwanted,
            Use::WhileValidated => {
                self.note_stale();
                CacheLookup::WhileValidated(object)
            }
            Use::Validated if self.passes.has(hash, asked.now.ms) => {
                // A server has just failed to answer, or its answer could not be shared.
                let freshness = object.freshness();
                if freshness.staleness_s(asked.now) < freshness.if_error_s {
                    self.note_stale();
                    return CacheLookup::Fresh(object);
                }
                self.stats.passes += 1;
                CacheLookup::Pass
            }
            Use::Validated => {
                self.stats.validations += 1;
                CacheLookup::Validated(object)
            }
        }
    }

    /// A request looks again, after something else was asked: it counts once.
    pub fn discount(&mut self, looked: &CacheLookup) {
        match looked {
            CacheLookup::Missing(_) => self.stats.misses = self.stats.misses.saturating_sub(1),
            CacheLookup::Validated(_) => {
                self.stats.validations = self.stats.validations.saturating_sub(1);
            }
            CacheLookup::Fresh(_)
            | CacheLookup::WhileValidated(_)
            | CacheLookup::Pass
            | CacheLookup::Unwanted => {}
        }
    }

    /// The answer that a request was to get has gone.
    pub fn discount_hit(&mut self) {
        self.stats.hits = self.stats.hits.saturating_sub(1);
    }

    /// A stale answer was used.
    pub fn note_stale(&mut self) {
        self.stats.hits += 1;
        self.stats.stale += 1;
    }

    /// A request has shared the answer to another one.
    pub fn note_collapsed(&mut self) {
        self.stats.collapsed += 1;
    }

    /// A request went to a server without a look.
    pub fn note_pass(&mut self) {
        self.stats.passes += 1;
    }

    /// An answer was found outside of memory. It is in memory from now on, if it is not too large.
    pub fn take_back(&mut self, key: &AnswerKey, object: Rc<Object>, request: &Fields<'_, '_>) {
        self.stats.disk_hits += 1;
        // Before it is here: it is about to be used, and must not be the one that leaves.
        self.make_room(object.cost() + key.cost());
        self.put(key, object, request);
    }

    /// An answer was stored outside of memory, or was not.
    pub fn note_outside(&mut self, outcome: OutsideOutcome) {
        match outcome {
            OutsideOutcome::Stored => self.stats.disk_stored += 1,
            OutsideOutcome::Lost => self.stats.disk_lost += 1,
        }
    }

    /// Stores an answer to a request with these fields. `false`: it is too large.
    pub fn store(&mut self, key: &AnswerKey, object: Rc<Object>, request: &Fields<'_, '_>) -> bool {
        let fits = self.put(key, object, request);
        self.stats.stored += u64::from(fits);
        self.make_room(0);
        fits
    }

    fn put(&mut self, key: &AnswerKey, object: Rc<Object>, request: &Fields<'_, '_>) -> bool {
        let cost = object.cost() + key.cost();
        if object.body().len() > self.rules.object || cost > self.rules.memory {
            return false;
        }
        self.drop_purged_of(key);
        let hash = key.hash(&self.secret);
        let body = Rc::clone(object.body());
        let entry = Entry { key: key.clone(), object, number: self.number };
        let places = self.by_text.entry(Rc::clone(key.text())).or_default();
        let shelf = &mut self.shelf;
        let is_same = |place: &ValuePlace| {
            let known = shelf.get(*place);
            known.is_some_and(|one| one.key == *key && one.object.variant().matches(request))
        };
        match places.iter().position(is_same) {
            Some(at) => {
                // The youngest is last.
                let place = places.remove(at);
                places.push(place);
                if let Some(gone) = shelf.replace(place, cost, entry) {
                    gone.object.body().leave(&self.outside);
                }
            }
            None => {
                if places.len() == VARIANTS {
                    take_away(shelf, places.remove(0), &self.outside);
                }
                places.push(shelf.put(hash, cost, entry));
            }
        }
        body.enter();
        self.passes.forget(hash);
        true
    }

    /// Answers to this key are not stored.
    pub fn note_unstorable(&mut self, key: &AnswerKey, now: Time) {
        self.passes.note(key.hash(&self.secret), now.ms + PASSED_MS);
    }

    /// A fetch has failed: those that waited for it go by themselves.
    pub fn note_failed(&mut self, key: &AnswerKey, now: Time) {
        self.passes.note(key.hash(&self.secret), now.ms + FAILED_MS);
    }

    /// Forgets the answers for which a request with these fields asks.
    pub fn forget(&mut self, key: &AnswerKey, request: &Fields<'_, '_>) {
        self.remove_if(key.text(), |entry| {
            entry.key == *key && entry.object.variant().matches(request)
        });
    }

    /// The resource of a key has changed (RFC 9111 section 4.4): all its answers are forgotten.
    pub fn invalidate(&mut self, text: &str) {
        self.remove_if(text, |_| true);
    }

    /// Forgets everything that a pattern includes. It is in force at once; the memory is free after some calls of
    /// [`sweep`](Self::sweep).
    pub fn purge(&mut self, pattern: PurgePattern) {
        self.number += 1;
        self.purges.add(pattern, self.number, self.shelf.places());
    }

    /// Compares some answers with purges. `true`: there are more to compare.
    pub fn sweep(&mut self) -> bool {
        if self.purges.is_empty() {
            return false;
        }
        let compared = self.purges.next(SWEPT);
        for index in compared.clone() {
            let Some((place, entry)) = self.shelf.at(index) else { continue };
            if self.purges.include(&entry.key, entry.number) {
                let text = Rc::clone(entry.key.text());
                take_away(&mut self.shelf, place, &self.outside);
                self.unlink(&text, place);
            }
        }
        self.purges.note_compared(&compared);
        !self.purges.is_empty()
    }

    /// Nothing yet, for an answer that is being received.
    pub fn reservation(&self) -> Reservation {
        Reservation::new(&self.outside)
    }

    /// Whether so many bytes more of an answer can be received.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        self.outside.bytes().saturating_add(bytes) <= self.rules.memory / ARRIVING_PART
    }

    /// Takes this much more memory for an answer that is being received. `false`: there is too much.
    pub fn reserve(&mut self, held: &mut Reservation, bytes: usize) -> bool {
        let has_room = self.has_room_for(bytes);
        if has_room {
            held.grow(bytes);
            self.make_room(0);
        }
        has_room
    }

    /// Bytes of answers that are being received, and of those that clients still read though they were forgotten.
    pub fn outside(&self) -> usize {
        self.outside.bytes()
    }

    /// Its counters.
    pub fn stats(&self) -> CacheStats {
        CacheStats { bytes: self.shelf.bytes(), objects: self.shelf.len(), ..self.stats }
    }

    fn make_room(&mut self, more: usize) {
        while let Some(entry) = self.shelf.evict(self.outside.bytes().saturating_add(more)) {
            entry.object.body().leave(&self.outside);
            self.stats.evictions += 1;
            let shelf = &self.shelf;
            let text = entry.key.text();
            if let Some(places) = self.by_text.get_mut(text) {
                places.retain(|place| shelf.get(*place).is_some());
                if places.is_empty() {
                    self.by_text.remove(text);
                }
            }
        }
    }

    fn unlink(&mut self, text: &str, gone: ValuePlace) {
        let Some(places) = self.by_text.get_mut(text) else { return };
        places.retain(|place| *place != gone);
        if places.is_empty() {
            self.by_text.remove(text);
        }
    }

    fn drop_purged_of(&mut self, key: &AnswerKey) {
        if !self.purges.is_empty() {
            let purges = std::mem::take(&mut self.purges);
            self.remove_if(key.text(), |entry| purges.include(&entry.key, entry.number));
            self.purges = purges;
        }
    }

    fn remove_if(&mut self, text: &str, is_gone: impl Fn(&Entry) -> bool) {
        let Some(places) = self.by_text.get_mut(text) else { return };
        let shelf = &mut self.shelf;
        places.retain(|place| {
            let gone = shelf.get(*place).is_none_or(&is_gone);
            if gone {
                take_away(shelf, *place, &self.outside);
            }
            !gone
        });
        if places.is_empty() {
            self.by_text.remove(text);
        }
    }
}

/// Takes an answer away. Its body counts as long as clients read it.
fn take_away(shelf: &mut Shelf<Entry>, place: ValuePlace, outside: &Outside) {
    if let Some(gone) = shelf.remove(place) {
        gone.object.body().leave(outside);
    }
}
