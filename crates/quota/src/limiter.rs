//! The limits of a server on one scheduler, by name.
//!
//! Owns their rules, the keys of what they count, and how many uses each has refused. Each has its own part of the room
//! for keys, so the clients of one limit are never forgotten for those of another. A limit that keeps its name over a
//! reload keeps what was used.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use ahash::RandomState;

use crate::meter::{Meter, Uses};
use crate::pace::QuotaDecision;
use crate::rule::Rule;

/// A limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name.
    pub name: Arc<str>,
    /// The quantity that it limits.
    pub rule: Rule,
    /// How long a use may wait instead of being refused.
    pub patience: Duration,
}

/// The counts of a limit on this scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Its name.
    pub name: Arc<str>,
    /// Uses refused.
    pub refused: u64,
    /// Uses that had to wait.
    pub delayed: u64,
    /// Keys forgotten, because there was no room, whose uses were not all given back.
    pub forgotten: u64,
}

/// Uses that another scheduler has to count, each with the name of its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteUses(Vec<(Arc<str>, Uses)>);

impl RemoteUses {
    pub(crate) fn new(uses: Vec<(Arc<str>, Uses)>) -> Self {
        Self(uses)
    }

    /// The uses, each with the name of its limit.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Uses)> {
        self.0.iter().map(|(name, uses)| (name, uses))
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The limits of one scheduler.
#[derive(Debug)]
pub struct Limiter {
    limits: Arc<[Limit]>,
    /// One for each limit.
    states: Vec<State>,
    /// For how many keys there is room, of all limits together.
    keys: usize,
    schedulers: usize,
    hasher: RandomState,
}

/// The counts of one limit.
#[derive(Debug)]
struct State {
    meter: Meter,
    refused: u64,
    delayed: u64,
}

impl State {
    fn count(&mut self, outcome: QuotaDecision) {
        match outcome {
            QuotaDecision::Allowed => {}
            QuotaDecision::After(_) => self.delayed += 1,
            QuotaDecision::Refused(_) => self.refused += 1,
        }
    }
}

impl Limiter {
    /// No limits yet; room for this many keys, on one of so many schedulers, which all have the same seed.
    pub fn new(keys: usize, schedulers: usize, seed: u64) -> Self {
        Self {
            limits: Arc::from([]),
            states: Vec::new(),
            keys,
            schedulers,
            hasher: RandomState::with_seeds(seed, !seed, seed.rotate_left(32), 0),
        }
    }

    /// Other limits are in force. Each has the same part of the room for keys; a server without limits has none. What a
    /// key has used is given back at the new rate.
    pub fn set_limits(&mut self, limits: Arc<[Limit]>, now_ns: u64) {
        let keys = self.keys.div_ceil(limits.len().max(1));
        let states = std::mem::take(&mut self.states);
        let mut old: Vec<_> = self.limits.iter().zip(states).collect();
        let state = |limit: &Limit| {
            let known = old.iter().position(|(known, _)| known.name == limit.name);
            let known = known.map(|index| old.swap_remove(index));
            let new = || Meter::new(keys, self.schedulers);
            match known {
                None => State { meter: new(), refused: 0, delayed: 0 },
                Some((known, state)) if known.rule.is_counted_like(limit.rule) => {
                    let meter = state.meter.resized(keys);
                    let meter = match known.rule.paces(limit.rule) {
                        Some((old, new)) => meter.repaced(&old, &new, now_ns),
                        None => meter,
                    };
                    State { meter, ..state }
                }
                Some((_, state)) => State { meter: new(), ..state },
            }
        };
        self.states = limits.iter().map(state).collect();
        self.limits = limits;
    }

    /// The limits in force.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// The limit with this name.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.limits.iter().position(|limit| limit.name.as_bytes() == name)
    }

    /// The number that stands for something that a limit counts.
    pub fn key(&self, limit: usize, what: impl Hash) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        self.limits.get(limit).map(|limit| &*limit.name).hash(&mut hasher);
        what.hash(&mut hasher);
        hasher.finish()
    }

    /// Uses a limit. Something of unknown size is only let in if all that was used before is within the limit.
    pub fn take(&mut self, limit: usize, key: u64, now_ns: u64) -> QuotaDecision {
        let Some((Limit { rule, patience, .. }, state)) = self.at(limit) else {
            return QuotaDecision::Allowed;
        };
        let outcome = match rule {
            Rule::Uses(pace) => state.meter.take(key, (pace, 1), now_ns, *patience),
            Rule::Amounts(pace) => state.meter.is_within(key, pace, now_ns),
            Rule::Open(most) if state.meter.open(key, *most) => QuotaDecision::Allowed,
            // When one of them ends is not known.
            Rule::Open(_) => QuotaDecision::Refused(Duration::from_secs(1)),
        };
        state.count(outcome);
        outcome
    }

    /// The decision that [`take`](Self::take) would return. Nothing is used or counted.
    pub fn look(&mut self, limit: usize, key: u64, now_ns: u64) -> QuotaDecision {
        let Some((Limit { rule, patience, .. }, state)) = self.at(limit) else {
            return QuotaDecision::Allowed;
        };
        match rule {
            Rule::Uses(pace) => state.meter.look(key, pace, now_ns, *patience),
            Rule::Amounts(pace) => state.meter.is_within(key, pace, now_ns),
            Rule::Open(most) if state.meter.has_place(key, *most) => QuotaDecision::Allowed,
            Rule::Open(_) => QuotaDecision::Refused(Duration::from_secs(1)),
        }
    }

    /// A use was refused that [`look`](Self::look) has looked at.
    pub fn count_refusal(&mut self, limit: usize, wait: Duration) {
        if let Some((_, state)) = self.at(limit) {
            state.count(QuotaDecision::Refused(wait));
        }
    }

    /// The same for pages, which do not wait, and close nothing.
    pub fn take_for_page(&mut self, limit: usize, key: u64, now_ns: u64) -> QuotaDecision {
        let Some((Limit { rule, .. }, state)) = self.at(limit) else {
            return QuotaDecision::Allowed;
        };
        let outcome = match rule {
            Rule::Uses(pace) => state.meter.take(key, (pace, 1), now_ns, Duration::ZERO),
            Rule::Amounts(pace) => state.meter.is_within(key, pace, now_ns),
            Rule::Open(_) => QuotaDecision::Allowed,
        };
        state.count(outcome);
        outcome
    }

    /// Counts an amount that was used.
    pub fn spend(&mut self, limit: usize, key: u64, amount: u64, now_ns: u64) {
        if let Some((Limit { rule: Rule::Amounts(pace), .. }, state)) = self.at(limit) {
            state.meter.spend(key, (pace, amount), now_ns);
        }
    }

    /// A use of the limit with this name has ended. After a reload the limit may have another number or none.
    pub fn close(&mut self, name: &str, key: u64) {
        let limit = self.find(name.as_bytes());
        if let Some((Limit { rule: Rule::Open(_), .. }, state)) = limit.and_then(|one| self.at(one))
        {
            state.meter.close(key);
        }
    }

    /// The uses of this turn, for the other schedulers.
    pub fn take_news(&mut self) -> RemoteUses {
        let all = self.limits.iter().zip(&mut self.states);
        let news = all.map(|(limit, state)| (&limit.name, state.meter.take_news()));
        let told = news.filter(|(_, uses)| !uses.is_empty());
        RemoteUses(told.map(|(name, uses)| (Arc::clone(name), uses)).collect())
    }

    /// Counts what another scheduler tells.
    pub fn learn(&mut self, news: &RemoteUses, now_ns: u64) {
        for (name, uses) in &news.0 {
            let limit = self.find(name.as_bytes());
            if let Some((limit, state)) = limit.and_then(|one| self.at(one))
                && uses.are_of(limit.rule)
            {
                state.meter.learn(uses, now_ns);
            }
        }
    }

    /// The counts of each limit.
    pub fn counts(&self) -> Vec<LimitCounts> {
        let count = |(limit, state): (&Limit, &State)| LimitCounts {
            name: Arc::clone(&limit.name),
            refused: state.refused,
            delayed: state.delayed,
            forgotten: state.meter.forgotten(),
        };
        self.limits.iter().zip(&self.states).map(count).collect()
    }

    /// Bytes of memory of its tables.
    pub fn bytes(&self) -> usize {
        self.states.iter().map(|state| state.meter.bytes()).sum()
    }

    fn at(&mut self, limit: usize) -> Option<(&Limit, &mut State)> {
        self.limits.get(limit).zip(self.states.get_mut(limit))
    }
}
