//! The limits of a server on one scheduler, by name.
//!
//! Owns their rules, the keys of what they count, and how many uses each has refused. A limit that keeps its name over
//! a reload keeps what was used.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use ahash::RandomState;

use crate::meter::{Meter, News};
use crate::pace::{Outcome, Pace};

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

/// The quantity that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Uses, each of one unit.
    Uses(Pace),
    /// Something whose size is known afterwards.
    Amounts(Pace),
    /// Uses that have not ended.
    Open(u64),
}

/// How often a limit has refused or delayed a use on this scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Its name.
    pub name: Arc<str>,
    /// Uses refused.
    pub refused: u64,
    /// Uses that had to wait.
    pub delayed: u64,
}

/// The limits of one scheduler.
#[derive(Debug)]
pub struct Limiter {
    limits: Arc<[Limit]>,
    counts: Vec<LimitCounts>,
    /// Without any limit so far, it has room for nothing.
    meter: Meter,
    /// The keys and the schedulers that it is made for.
    room: (usize, usize),
    hasher: RandomState,
}

impl Limiter {
    /// No limits yet; room for this many keys, on one of so many schedulers, which all have the same seed.
    #[must_use]
    pub fn new(keys: usize, schedulers: usize, seed: u64) -> Self {
        Self {
            limits: Arc::from([]),
            counts: Vec::new(),
            meter: Meter::new(1, schedulers),
            room: (keys, schedulers),
            hasher: RandomState::with_seeds(seed, !seed, seed.rotate_left(32), 0),
        }
    }

    /// Other limits are in force. The first ones make the room for keys: a server without limits has none.
    pub fn set_limits(&mut self, limits: Arc<[Limit]>) {
        let (keys, schedulers) = self.room;
        if !self.meter.has_room_for(keys) && !limits.is_empty() {
            self.meter = Meter::new(keys, schedulers);
        }
        let counts = |limit: &Limit| {
            let known = self.counts.iter().find(|counts| counts.name == limit.name);
            let new = || LimitCounts { name: Arc::clone(&limit.name), ..LimitCounts::default() };
            known.cloned().unwrap_or_else(new)
        };
        self.counts = limits.iter().map(counts).collect();
        self.limits = limits;
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// The limit with this name.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.limits.iter().position(|limit| limit.name.as_bytes() == name)
    }

    /// The number that stands for something that a limit counts.
    #[must_use]
    pub fn key(&self, limit: usize, what: impl Hash) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        self.limits.get(limit).map(|limit| &*limit.name).hash(&mut hasher);
        what.hash(&mut hasher);
        hasher.finish()
    }

    /// Uses a limit. Something of unknown size is only let in if all that was used before is within the limit.
    pub fn take(&mut self, limit: usize, key: u64, now_ns: u64) -> Outcome {
        let Some(Limit { rule, patience, .. }) = self.limits.get(limit) else {
            return Outcome::Allowed;
        };
        let outcome = match rule {
            Rule::Uses(pace) => self.meter.take(key, (pace, 1), now_ns, *patience),
            Rule::Amounts(pace) => self.meter.is_within(key, pace, now_ns),
            Rule::Open(most) if self.meter.open(key, *most) => Outcome::Allowed,
            // When one of them ends is not known.
            Rule::Open(_) => Outcome::Refused(Duration::from_secs(1)),
        };
        self.count(limit, outcome);
        outcome
    }

    /// What [`take`](Self::take) would say. Nothing is used or counted.
    pub fn look(&mut self, limit: usize, key: u64, now_ns: u64) -> Outcome {
        let Some(Limit { rule, patience, .. }) = self.limits.get(limit) else {
            return Outcome::Allowed;
        };
        match rule {
            Rule::Uses(pace) => self.meter.look(key, pace, now_ns, *patience),
            Rule::Amounts(pace) => self.meter.is_within(key, pace, now_ns),
            Rule::Open(most) if self.meter.has_place(key, *most) => Outcome::Allowed,
            Rule::Open(_) => Outcome::Refused(Duration::from_secs(1)),
        }
    }

    /// A use was refused that [`look`](Self::look) has looked at.
    pub fn count_refusal(&mut self, limit: usize, wait: Duration) {
        self.count(limit, Outcome::Refused(wait));
    }

    /// The same for pages, which do not wait, and close nothing.
    pub fn take_for_page(&mut self, limit: usize, key: u64, now_ns: u64) -> Outcome {
        let Some(Limit { rule, .. }) = self.limits.get(limit) else { return Outcome::Allowed };
        let outcome = match rule {
            Rule::Uses(pace) => self.meter.take(key, (pace, 1), now_ns, Duration::ZERO),
            Rule::Amounts(pace) => self.meter.is_within(key, pace, now_ns),
            Rule::Open(_) => Outcome::Allowed,
        };
        self.count(limit, outcome);
        outcome
    }

    /// Counts an amount that was used.
    pub fn spend(&mut self, limit: usize, key: u64, amount: u64, now_ns: u64) {
        if let Some(Limit { rule: Rule::Amounts(pace), .. }) = self.limits.get(limit) {
            self.meter.spend(key, (pace, amount), now_ns);
        }
    }

    /// A use has ended.
    pub fn close(&mut self, key: u64) {
        self.meter.close(key);
    }

    /// The uses of this turn, for the other schedulers.
    pub fn take_news(&mut self) -> News {
        self.meter.take_news()
    }

    /// Counts what another scheduler tells.
    pub fn learn(&mut self, news: &News, now_ns: u64) {
        self.meter.learn(news, now_ns);
    }

    /// How often each limit has refused.
    #[must_use]
    pub fn counts(&self) -> &[LimitCounts] {
        &self.counts
    }

    fn count(&mut self, limit: usize, outcome: Outcome) {
        let Some(counts) = self.counts.get_mut(limit) else { return };
        match outcome {
            Outcome::Allowed => {}
            Outcome::After(_) => counts.delayed += 1,
            Outcome::Refused(_) => counts.refused += 1,
        }
    }
}
