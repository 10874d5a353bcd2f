//! What subscribers received.
//!
//! Owns the counters of one thread, and how those of all threads are added up.

use std::collections::BTreeMap;

use runtime::transport::Agreed;

use crate::host::ThreadUse;
use crate::limits::CHANNEL_MESSAGES_FOLLOWED;
use crate::tally::{HandshakeFault, HandshakeTally, Latency};

/// What a thread hands over.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) tally: Tally,
    pub(super) used: Option<ThreadUse>,
}

/// How one message arrived at the subscribers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrivals {
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) count: u64,
}

impl Arrivals {
    const NONE: Self = Self { first_ns: u64::MAX, last_ns: 0, count: 0 };
}

/// What the subscribers of a thread received.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) opened: u64,
    /// The handshakes of encrypted connections; `None` before the first.
    handshakes: Option<Box<HandshakeTally>>,
    /// Connections that did not become subscribers, by reason.
    pub(super) failed: BTreeMap<String, u64>,
    pub(super) published: u64,
    pub(super) received: u64,
    /// From the time a message was due until its arrival, over all deliveries.
    pub(super) latency: Latency,
    /// By the number of the message.
    pub(super) messages: Vec<Arrivals>,
    /// Messages that a subscriber received twice, or after a later one.
    pub(super) disordered: u64,
    /// Subscribers that ended before the end, by close code or reason.
    pub(super) ended: BTreeMap<String, u64>,
    /// Messages of the subscribers with the fewest and the most.
    pub(super) fewest: Option<u64>,
    pub(super) most: u64,
    pub(super) begun_ns: Option<u64>,
    pub(super) last_ns: u64,
}

impl Tally {
    /// The handshakes of encrypted connections; `None` if none was over or failed.
    pub(super) fn handshakes(&self) -> Option<&HandshakeTally> {
        self.handshakes.as_deref()
    }

    /// A handshake is over, after so long.
    pub(super) fn agree(&mut self, agreed: &Agreed, handshake_ns: u64) {
        self.handshakes.get_or_insert_default().agree(agreed, handshake_ns);
    }

    pub(super) fn fail_handshake(&mut self, fault: HandshakeFault) {
        self.handshakes.get_or_insert_default().fail(fault);
    }

    /// A subscriber received a message.
    pub(super) fn receive(&mut self, number: u64, due_ns: u64, now_ns: u64) {
        let latency_ns = now_ns.saturating_sub(due_ns);
        self.received += 1;
        self.latency.record(latency_ns);
        self.begun_ns = Some(self.begun_ns.map_or(due_ns, |begun_ns| begun_ns.min(due_ns)));
        self.last_ns = now_ns;
        let Ok(at) = usize::try_from(number) else { return };
        if at >= CHANNEL_MESSAGES_FOLLOWED {
            return;
        }
        if self.messages.len() <= at {
            self.messages.resize(at + 1, Arrivals::NONE);
        }
        let arrivals = &mut self.messages[at];
        arrivals.first_ns = arrivals.first_ns.min(latency_ns);
        arrivals.last_ns = arrivals.last_ns.max(latency_ns);
        arrivals.count += 1;
    }

    /// Whether every subscriber of this thread has received everything that was published.
    pub(super) fn has_all(&self) -> bool {
        self.received >= self.published.saturating_mul(self.opened)
    }

    /// A subscriber has ended; it received this many messages.
    pub(super) fn end(&mut self, received: u64) {
        self.fewest = Some(self.fewest.map_or(received, |fewest| fewest.min(received)));
        self.most = self.most.max(received);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.opened += other.opened;
        if let Some(handshakes) = other.handshakes {
            self.handshakes.get_or_insert_default().merge(&handshakes);
        }
        self.published += other.published;
        self.received += other.received;
        self.latency.merge(&other.latency);
        self.disordered += other.disordered;
        for (sum, counts) in [(&mut self.failed, other.failed), (&mut self.ended, other.ended)] {
            for (kind, count) in counts {
                *sum.entry(kind).or_default() += count;
            }
        }
        if self.messages.len() < other.messages.len() {
            self.messages.resize(other.messages.len(), Arrivals::NONE);
        }
        for (sum, one) in self.messages.iter_mut().zip(other.messages) {
            sum.first_ns = sum.first_ns.min(one.first_ns);
            sum.last_ns = sum.last_ns.max(one.last_ns);
            sum.count += one.count;
        }
        self.fewest = [self.fewest, other.fewest].into_iter().flatten().min();
        self.most = self.most.max(other.most);
        self.begun_ns = [self.begun_ns, other.begun_ns].into_iter().flatten().min();
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_of_threads_are_one() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        one.receive(0, 100, 150);
        one.receive(0, 100, 170);
        other.receive(0, 100, 130);
        other.receive(1, 200, 290);
        one.end(2);
        other.end(1);
        one.ended.insert("1001".to_owned(), 1);
        other.ended.insert("1001".to_owned(), 2);
        one.merge(other);
        assert_eq!(one.messages[0], Arrivals { first_ns: 30, last_ns: 70, count: 3 });
        assert_eq!(one.messages[1], Arrivals { first_ns: 90, last_ns: 90, count: 1 });
        assert_eq!(
            (one.received, one.latency.count(), one.begun_ns, one.last_ns),
            (4, 4, Some(100), 290)
        );
        assert_eq!((one.fewest, one.most, one.ended["1001"]), (Some(1), 2, 3));
    }
}
