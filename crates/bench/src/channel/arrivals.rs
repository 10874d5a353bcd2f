//! How one message arrived at the subscribers of a thread or of a generator.

use serde::{Deserialize, Serialize};

/// The first and the last arrival of a message, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "[u64; 3]", from = "[u64; 3]")]
pub(super) struct Arrivals {
    first_ns: u64,
    last_ns: u64,
    count: u64,
}

impl Arrivals {
    /// Of a message that has not arrived.
    pub(super) const NONE: Self = Self { first_ns: u64::MAX, last_ns: 0, count: 0 };

    /// It has arrived at one more subscriber, so long after it was due.
    pub(super) fn add(&mut self, after_ns: u64) {
        self.merge(Self { first_ns: after_ns, last_ns: after_ns, count: 1 });
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.count += other.count;
    }

    /// How many subscribers received it.
    pub(super) fn count(self) -> u64 {
        self.count
    }

    /// From the time it was due until the first subscriber received it.
    pub(super) fn first_ns(self) -> u64 {
        self.first_ns
    }

    /// The same for the last subscriber.
    pub(super) fn last_ns(self) -> u64 {
        self.last_ns
    }
}

impl From<Arrivals> for [u64; 3] {
    fn from(Arrivals { first_ns, last_ns, count }: Arrivals) -> Self {
        [first_ns, last_ns, count]
    }
}

impl From<[u64; 3]> for Arrivals {
    fn from([first_ns, last_ns, count]: [u64; 3]) -> Self {
        Self { first_ns, last_ns, count }
    }
}
