//! Delivery times by where a message was published and where it was received.
//!
//! Owns one distribution for each pair of addresses that has deliveries: a server of several nodes delivers to its own
//! subscribers sooner than to those of others.

use serde::{Deserialize, Serialize};

use crate::tally::Latency;

/// The addresses of a delivery, as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AddressPair {
    /// Where the message was published.
    pub from: usize,
    /// Where it was received.
    pub to: usize,
}

/// The delivery times of all pairs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PairTimes {
    addresses: usize,
    times: Vec<Option<Box<Latency>>>,
}

impl PairTimes {
    /// Nothing, between this many addresses.
    pub(super) fn between(addresses: usize) -> Self {
        Self { addresses, times: (0..addresses * addresses).map(|_| None).collect() }
    }

    /// A delivery.
    pub(super) fn record(&mut self, pair: AddressPair, latency_ns: u64) {
        if let Some(times) = self.times.get_mut(pair.from * self.addresses + pair.to) {
            times.get_or_insert_default().record(latency_ns);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        if self.times.len() < other.times.len() {
            *self = Self::between(other.addresses);
        }
        for (sum, one) in self.times.iter_mut().zip(other.times) {
            if let Some(one) = one {
                sum.get_or_insert_default().merge(&one);
            }
        }
    }

    /// The times of each pair with deliveries.
    pub(super) fn each(&self) -> impl Iterator<Item = (AddressPair, &Latency)> {
        let addresses = self.addresses.max(1);
        let pair = move |at| AddressPair { from: at / addresses, to: at % addresses };
        let times = self.times.iter().enumerate();
        times.filter_map(move |(at, times)| Some((pair(at), times.as_deref()?)))
    }

    /// The times of the pairs that fit, together.
    pub(super) fn together(&self, fits: impl Fn(AddressPair) -> bool) -> Latency {
        let mut sum = Latency::new();
        for (_, times) in self.each().filter(|(pair, _)| fits(*pair)) {
            sum.merge(times);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_kept_apart_and_added_up() {
        let (mut one, mut other) = (PairTimes::between(2), PairTimes::between(2));
        one.record(AddressPair { from: 0, to: 0 }, 10);
        other.record(AddressPair { from: 0, to: 1 }, 30);
        other.record(AddressPair { from: 0, to: 0 }, 20);
        let mut sum = PairTimes::default();
        sum.merge(one);
        sum.merge(other);
        let counts: Vec<_> = sum.each().map(|(pair, times)| (pair.to, times.count())).collect();
        assert_eq!(counts, [(0, 2), (1, 1)]);
        assert_eq!(sum.together(|pair| pair.from != pair.to).maximum_ns(), 30);
        assert_eq!(sum.together(|_| true).count(), 3);
    }
}
