//! Counts of the messages that subscribers received.
//!
//! Owns the counters of one thread, and how those of all threads are added up.

use std::collections::BTreeMap;

use runtime::transport::Agreed;
use serde::{Deserialize, Serialize};

use super::arrivals::Arrivals;
use super::check::{CheckReport, CheckTally, ExpectedOrder};
use super::order::Succession;
use super::pairs::{AddressPair, PairTimes};
use super::workload::WorkloadTally;
use crate::host::ThreadUse;
use crate::limits::CHANNEL_MESSAGES_FOLLOWED;
use crate::tally::{HandshakeFault, HandshakeTally};

/// The results that a thread hands over. Plain data.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) tally: Tally,
    pub(crate) used: Option<ThreadUse>,
}

/// A delivery. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// The place of the message among those of all publishers.
    pub(crate) place: usize,
    /// Where it was published and received.
    pub(crate) pair: AddressPair,
    /// When it was due, by the clock of this host.
    pub(crate) due_ns: u64,
    pub(crate) now_ns: u64,
}

/// Counts of the messages that the subscribers of a thread received.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    opened: u64,
    /// The handshakes of encrypted connections; `None` before the first. A report has them in another form.
    #[serde(skip)]
    handshakes: Option<Box<HandshakeTally>>,
    /// Connections that did not become subscribers, by reason.
    failed: BTreeMap<String, u64>,
    published: u64,
    /// Deliveries, without doubles.
    received: u64,
    /// From the time a message was due until its arrival, over all deliveries.
    times: PairTimes,
    /// By the place of the message.
    messages: Vec<Arrivals>,
    succession: Succession,
    check: CheckTally,
    workload: WorkloadTally,
    /// Subscribers that ended before the end, by close code or reason.
    ended: BTreeMap<String, u64>,
    /// Messages of the subscribers with the fewest and the most.
    fewest: Option<u64>,
    most: u64,
    begun_ns: Option<u64>,
    last_ns: u64,
}

impl Tally {
    /// Nothing yet, from this many addresses.
    pub(super) fn of(addresses: usize) -> Self {
        Self { times: PairTimes::between(addresses), ..Self::default() }
    }

    /// The handshakes of encrypted connections; `None` if none was over or failed.
    pub(super) fn handshakes(&self) -> Option<&HandshakeTally> {
        self.handshakes.as_deref()
    }

    /// A connection became a subscriber.
    pub(super) fn open(&mut self) {
        self.opened += 1;
    }

    /// How many connections became subscribers.
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    /// A connection did not become a subscriber, or an order of one was refused.
    pub(super) fn fail(&mut self, why: String) {
        *self.failed.entry(why).or_default() += 1;
    }

    /// Why connections did not become subscribers, and how often.
    pub(super) fn failed(&self) -> &BTreeMap<String, u64> {
        &self.failed
    }

    /// A subscriber ended before the end.
    pub(super) fn lose(&mut self, kind: String) {
        *self.ended.entry(kind).or_default() += 1;
    }

    /// Why subscribers ended before the end, and how many.
    pub(super) fn lost(&self) -> &BTreeMap<String, u64> {
        &self.ended
    }

    /// A message was published.
    pub(super) fn publish(&mut self) {
        self.published += 1;
    }

    pub(super) fn published(&self) -> u64 {
        self.published
    }

    /// Deliveries, without doubles.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// The faults that subscribers see.
    pub(super) fn check_mut(&mut self) -> &mut CheckTally {
        &mut self.check
    }

    /// The check of every message over all subscribers.
    pub(super) fn check_report(&self, publishers: usize, expected: ExpectedOrder) -> CheckReport {
        let contradiction = self.succession.contradiction();
        let report = CheckReport::of(&self.check, contradiction.as_ref(), publishers, expected);
        CheckReport { is_cut: self.succession.is_cut(), ..report }
    }

    /// The fate of subscribers that do not stay.
    pub(super) fn workload(&self) -> &WorkloadTally {
        &self.workload
    }

    pub(super) fn workload_mut(&mut self) -> &mut WorkloadTally {
        &mut self.workload
    }

    /// Messages of the subscriber with the fewest.
    pub(super) fn fewest(&self) -> u64 {
        self.fewest.unwrap_or(0)
    }

    /// Messages of the subscriber with the most.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// From the time the first message was due until the last one was received.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.begun_ns.unwrap_or(self.last_ns))
    }

    /// A handshake is over, after so long.
    pub(super) fn agree(&mut self, agreed: &Agreed, handshake_ns: u64) {
        self.handshakes.get_or_insert_default().agree(agreed, handshake_ns);
    }

    pub(super) fn fail_handshake(&mut self, fault: HandshakeFault) {
        self.handshakes.get_or_insert_default().fail(fault);
    }

    /// A subscriber received a message for the first time. The result is the number of the message in the order of all,
    /// if it is followed.
    pub(super) fn receive(&mut self, delivery: Delivery) -> Option<u32> {
        let Delivery { place, pair, due_ns, now_ns } = delivery;
        let latency_ns = now_ns.saturating_sub(due_ns);
        self.received += 1;
        self.times.record(pair, latency_ns);
        self.begun_ns = Some(self.begun_ns.map_or(due_ns, |begun_ns| begun_ns.min(due_ns)));
        self.last_ns = now_ns;
        if place >= CHANNEL_MESSAGES_FOLLOWED {
            return None;
        }
        if self.messages.len() <= place {
            self.messages.resize(place + 1, Arrivals::NONE);
        }
        self.messages[place].add(latency_ns);
        u32::try_from(place).ok()
    }

    /// A subscriber received one message directly after another.
    pub(super) fn follow(&mut self, pair: [u32; 2]) {
        self.succession.follow(pair);
    }

    /// The delivery times of all pairs of addresses.
    pub(super) fn times(&self) -> &PairTimes {
        &self.times
    }

    /// The messages that are followed.
    pub(super) fn messages(&self) -> &[Arrivals] {
        &self.messages
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
        self.times.merge(other.times);
        self.succession.merge(&other.succession);
        self.check.merge(other.check);
        self.workload.merge(&other.workload);
        for (sum, counts) in [(&mut self.failed, other.failed), (&mut self.ended, other.ended)] {
            for (kind, count) in counts {
                *sum.entry(kind).or_default() += count;
            }
        }
        if self.messages.len() < other.messages.len() {
            self.messages.resize(other.messages.len(), Arrivals::NONE);
        }
        for (sum, one) in self.messages.iter_mut().zip(other.messages) {
            sum.merge(one);
        }
        self.fewest = [self.fewest, other.fewest].into_iter().flatten().min();
        self.most = self.most.max(other.most);
        self.begun_ns = [self.begun_ns, other.begun_ns].into_iter().flatten().min();
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// Moves the times of the run to another clock, which shows this much more.
    pub(super) fn shift(&mut self, offset_ns: i64) {
        self.begun_ns = self.begun_ns.map(|begun_ns| begun_ns.saturating_add_signed(offset_ns));
        self.last_ns = self.last_ns.saturating_add_signed(offset_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_of_threads_are_one() {
        let (mut one, mut other) = (Tally::of(1), Tally::of(1));
        let pair = AddressPair { from: 0, to: 0 };
        let of = |place, due_ns, now_ns| Delivery { place, pair, due_ns, now_ns };
        one.receive(of(0, 100, 150));
        one.receive(of(0, 100, 170));
        other.receive(of(0, 100, 130));
        other.receive(of(1, 200, 290));
        one.end(2);
        other.end(1);
        one.ended.insert("1001".to_owned(), 1);
        other.ended.insert("1001".to_owned(), 2);
        let text = serde_json::to_string(&other).unwrap();
        one.merge(serde_json::from_str(&text).unwrap());
        let arrivals: Vec<[u64; 3]> = one.messages.iter().map(|one| (*one).into()).collect();
        assert_eq!(arrivals, [[30, 70, 3], [90, 90, 1]]);
        let times = one.times.together(|_| true);
        assert_eq!(
            (one.received, times.count(), one.begun_ns, one.last_ns),
            (4, 4, Some(100), 290)
        );
        assert_eq!((one.fewest, one.most, one.ended["1001"]), (Some(1), 2, 3));
    }
}
