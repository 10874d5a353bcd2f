//! One server of an upstream.
//!
//! Owns its places, its health and its counters. Never chooses.

use std::cmp::Ordering;

use crate::health::{Health, Reason, Standing};
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

/// A server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) rules: ServerRules,
    pub(crate) open: usize,
    pub(crate) health: Health,
    pub(crate) readiness: Readiness,
    /// How far it is ahead of the others, for [`Balance::RoundRobin`](crate::Balance::RoundRobin).
    pub(crate) credit: i64,
    requests: u64,
    failures: u64,
}

/// The state of a server, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// How it stands.
    pub standing: Standing,
    /// Why.
    pub reason: Reason,
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
    /// Failures one after the other.
    pub failures_in_a_row: u32,
}

impl Server {
    pub(crate) fn new(rules: ServerRules, now_ns: u64) -> Self {
        Self {
            rules,
            open: 0,
            health: Health::new(now_ns),
            readiness: Readiness::Ready,
            credit: 0,
            requests: 0,
            failures: 0,
        }
    }

    /// It is the server that another one was, under other rules.
    pub(crate) fn inherit(&mut self, old: &Self, checks: Checks) {
        (self.requests, self.failures) = (old.requests, old.failures);
        self.readiness = old.readiness;
        if checks == Checks::Made || !old.health.awaits_check() {
            self.health = old.health.clone();
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
        if self.health.standing() == Standing::Up { free } else { free.min(1) }
    }

    /// A request has failed.
    pub(crate) fn count_failure(&mut self) {
        self.failures += 1;
    }

    /// Compares how much it has to do for its weight with another one.
    pub(crate) fn compare_load(&self, other: &Self) -> Ordering {
        let load = |one: &Self, by: &Self| one.open as u64 * u64::from(by.rules.weight);
        load(self, other).cmp(&load(other, self))
    }

    pub(crate) fn view(&self) -> ServerView {
        ServerView {
            standing: self.health.standing(),
            reason: self.health.reason(),
            since_ns: self.health.since_ns(),
            readiness: self.readiness,
            open: self.open,
            requests: self.requests,
            failures: self.failures,
            failures_in_a_row: self.health.failures(),
        }
    }
}
