//! One server of an upstream.
//!
//! Owns its places, its health and its counters. Never chooses.

use std::cmp::Ordering;

use crate::health::{Health, HealthReason, ServerStanding};
use crate::limits::WARM_PERCENT;
use crate::rules::{HealthRules, ServerRules};

/// Whether an operator lets a server have requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// Yes.
    #[default]
    Ready,
    /// No new ones.
    Drained,
}

/// Whether servers are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Yes.
    Made,
    /// No.
    None,
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) rules: ServerRules,
    pub(crate) open: usize,
    pub(crate) health: Health,
    pub(crate) readiness: Readiness,
    /// How far it is ahead of the others, for [`Balance::RoundRobin`](crate::Balance::RoundRobin).
    pub(crate) credit: i64,
    /// Since when it is warmed up.
    warm_since_ns: Option<u64>,
    requests: u64,
    failures: u64,
}

/// The state of a server, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// How it stands.
    pub standing: ServerStanding,
    /// Why.
    pub reason: HealthReason,
    /// Since when, on the monotonic clock.
    pub since_ns: u64,
    /// Whether it gets new requests.
    pub readiness: Readiness,
    /// Its open requests.
    pub open: usize,
    /// Requests so far.
    pub requests: u64,
    /// Requests that failed.
    pub failures: u64,
    /// Whether it fails. The last server gets requests nevertheless.
    pub is_failing: bool,
}

/// The factors on which the weight of a server that is warmed up depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warmth {
    pub(crate) now_ns: u64,
    /// How long the weight grows.
    pub(crate) span_ns: u64,
}

impl Warmth {
    /// The part of its weight that a server has after this time.
    fn percent_after(self, gone_ns: u64) -> u32 {
        if gone_ns >= self.span_ns {
            return 100;
        }
        let grown = u128::from(100 - WARM_PERCENT) * u128::from(gone_ns) / u128::from(self.span_ns);
        WARM_PERCENT + grown as u32
    }
}

impl Server {
    pub(crate) fn new(rules: ServerRules, now_ns: u64) -> Self {
        Self {
            rules,
            open: 0,
            health: Health::new(now_ns),
            readiness: Readiness::Ready,
            credit: 0,
            warm_since_ns: None,
            requests: 0,
            failures: 0,
        }
    }

    /// It is the server that another one was, under other rules.
    pub(crate) fn inherit(&mut self, old: &Self, checks: Checks) {
        (self.requests, self.failures) = (old.requests, old.failures);
        (self.readiness, self.warm_since_ns) = (old.readiness, old.warm_since_ns);
        if checks == Checks::Made || !old.health.awaits_check() {
            self.health = old.health.clone();
        }
    }

    /// Something says how it is; if it is well again, its share of the requests grows.
    pub(crate) fn change_health(&mut self, now_ns: u64, change: impl FnOnce(&mut Health)) {
        let was_up = self.health.standing() == ServerStanding::Up;
        change(&mut self.health);
        if !was_up && self.health.standing() == ServerStanding::Up {
            self.warm_up(now_ns);
        }
    }

    /// It gets a request.
    pub(crate) fn begin(&mut self, rules: &HealthRules, now_ns: u64) {
        self.open += 1;
        self.requests += 1;
        self.health.on_begin(rules, now_ns);
    }

    /// How many more requests it may have of so many. One whose pause is over is tried by one.
    pub(crate) fn free(&self, most: usize) -> usize {
        let free = most.saturating_sub(self.open);
        if self.health.standing() == ServerStanding::Up { free } else { free.min(1) }
    }

    /// A request has failed.
    pub(crate) fn count_failure(&mut self) {
        self.failures += 1;
    }

    /// Its share of the requests grows from now on.
    pub(crate) fn warm_up(&mut self, now_ns: u64) {
        self.warm_since_ns = Some(now_ns);
    }

    /// Its weight at this time, in hundredths: all of it, or a part that grows linearly while it is warmed up.
    pub(crate) fn weight(&self, warmth: Warmth) -> u32 {
        u32::from(self.rules.weight) * self.percent(warmth)
    }

    /// The part of its weight that it has at this time.
    pub(crate) fn percent(&self, warmth: Warmth) -> u32 {
        self.warm_since_ns
            .map_or(100, |since_ns| warmth.percent_after(warmth.now_ns.saturating_sub(since_ns)))
    }

    /// Compares how much it has to do for its weight with another one.
    pub(crate) fn compare_load(&self, other: &Self, warmth: Warmth) -> Ordering {
        let load = |one: &Self, by: &Self| one.open as u64 * u64::from(by.weight(warmth));
        load(self, other).cmp(&load(other, self))
    }

    pub(crate) fn view(&self, rules: &HealthRules) -> ServerView {
        ServerView {
            standing: self.health.standing(),
            reason: self.health.reason(),
            since_ns: self.health.since_ns(),
            readiness: self.readiness,
            open: self.open,
            requests: self.requests,
            failures: self.failures,
            is_failing: self.health.is_failing(rules),
        }
    }
}
