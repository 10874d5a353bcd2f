//! Uses that another scheduler could not be told of when they were made, because its mailbox was full.
//!
//! Owns their sums until it can be told. None of what was opened or closed may be lost: a key whose end is never told
//! would be refused for ever. Never sends.

use std::sync::Arc;

use ahash::HashMap;

use crate::limiter::RemoteUses;
use crate::limits::NEWS_MAX;
use crate::meter::Uses;

/// Uses that another scheduler was not told of.
#[derive(Debug, Default)]
pub struct Untold(HashMap<Arc<str>, Sums>);

/// The uses of one limit, by key.
#[derive(Debug, Default)]
struct Sums {
    rates: HashMap<u64, u64>,
    open: HashMap<u64, i64>,
}

impl Untold {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what was used since.
    pub fn add(&mut self, news: &RemoteUses) {
        for (name, uses) in news.iter() {
            self.0.entry(Arc::clone(name)).or_default().add(uses);
        }
    }

    /// Takes all of it, to be told at once.
    pub fn take(&mut self) -> RemoteUses {
        let told = |(name, sums): (Arc<str>, Sums)| {
            let (rates, open) = (sums.rates.into_iter(), sums.open.into_iter());
            (name, Uses::new(rates.collect(), open.collect()))
        };
        let all = std::mem::take(&mut self.0).into_iter().map(told);
        RemoteUses::new(all.filter(|(_, uses)| !uses.is_empty()).collect())
    }
}

impl Sums {
    fn add(&mut self, uses: &Uses) {
        for (key, nanoseconds) in uses.rates() {
            if self.rates.len() < NEWS_MAX || self.rates.contains_key(key) {
                let sum = self.rates.entry(*key).or_default();
                *sum = sum.saturating_add(*nanoseconds);
            }
        }
        for (key, more) in uses.open() {
            let sum = self.open.entry(*key).or_default();
            *sum += more;
            if *sum == 0 {
                self.open.remove(key);
            }
        }
    }
}
