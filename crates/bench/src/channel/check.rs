//! The faults that subscribers have seen.
//!
//! Owns their counts, some of them by name, and which of them violate what a run expects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::message::MessageName;
use super::order::Contradiction;
use crate::limits::CHANNEL_FAULTS_NAMED;
use crate::report::figures::count;

/// A fault of a message for a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It never arrived, although the subscriber was connected and the server said nothing.
    Gap,
    /// It arrived again.
    Double,
    /// It arrived after a later one of the same publisher.
    Late,
}

/// A fault, or the first of consecutive ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryFault {
    /// The fault.
    pub kind: FaultKind,
    /// The message.
    pub message: MessageName,
    /// The address at which it should have arrived once, as an index.
    pub address: usize,
    /// How many messages from this one on.
    pub messages: u64,
}

/// The order that a run expects of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedOrder {
    /// One order of all messages, the same for all subscribers.
    #[default]
    All,
    /// The order of each publisher.
    Publisher,
    /// Nothing: faults are counted and make nothing invalid.
    Unchecked,
}

/// The faults that subscribers have seen.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CheckTally {
    counts: BTreeMap<FaultKind, u64>,
    told: u64,
    away: u64,
    named: Vec<DeliveryFault>,
}

impl CheckTally {
    pub(super) fn add(&mut self, fault: DeliveryFault) {
        *self.counts.entry(fault.kind).or_default() += fault.messages;
        // Of each kind, so that many of one kind do not hide another.
        let is_same = |known: &&DeliveryFault| known.kind == fault.kind;
        if self.named.iter().filter(is_same).count() < CHANNEL_FAULTS_NAMED {
            self.named.push(fault);
        }
    }

    /// More faults of a kind, which are not named.
    pub(super) fn add_unnamed(&mut self, kind: FaultKind, messages: u64) {
        if messages > 0 {
            *self.counts.entry(kind).or_default() += messages;
        }
    }

    /// Messages that the server said are lost.
    pub(super) fn tell(&mut self, messages: u64) {
        self.told += messages;
    }

    /// Messages from while a subscriber without a position was away.
    pub(super) fn miss(&mut self, messages: u64) {
        self.away += messages;
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (kind, messages) in other.counts {
            *self.counts.entry(kind).or_default() += messages;
        }
        self.told += other.told;
        self.away += other.away;
        for fault in other.named {
            let is_same = |known: &&DeliveryFault| known.kind == fault.kind;
            if self.named.iter().filter(is_same).count() < CHANNEL_FAULTS_NAMED {
                self.named.push(fault);
            }
        }
    }

    /// The number of faults of a kind.
    pub(super) fn of(&self, kind: FaultKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }
}

/// The check of every message over all subscribers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The expected order.
    pub expected: ExpectedOrder,
    /// Messages that a connected subscriber never received, although the server did not say that they are lost.
    pub gaps: u64,
    /// Messages that a subscriber received again.
    pub doubles: u64,
    /// Messages that a subscriber received after a later one of the same publisher.
    pub late: u64,
    /// Messages whose order differs between subscribers.
    pub unordered: u64,
    /// Whether there were more different orders than are compared.
    pub is_cut: bool,
    /// Messages that the server said are lost.
    pub told: u64,
    /// Messages from while a subscriber without a position was away.
    pub away: u64,
    /// Some of the faults.
    pub faults: Vec<DeliveryFault>,
    /// Some of the messages whose order differs: each was received directly before the next one by a subscriber, and
    /// the last before the first.
    pub unordered_example: Vec<MessageName>,
}

impl CheckReport {
    /// The report of what all subscribers have seen.
    pub(super) fn of(
        tally: &CheckTally,
        contradiction: Option<&Contradiction>,
        publishers: usize,
        expected: ExpectedOrder,
    ) -> Self {
        let named = |place: &u32| MessageName::at(*place as usize, publishers);
        let example = contradiction.map_or(&[][..], Contradiction::example);
        Self {
            expected,
            gaps: tally.of(FaultKind::Gap),
            doubles: tally.of(FaultKind::Double),
            late: tally.of(FaultKind::Late),
            unordered: contradiction.map_or(0, |found| found.places() as u64),
            is_cut: false,
            told: tally.told,
            away: tally.away,
            faults: tally.named.clone(),
            unordered_example: example.iter().take(CHANNEL_FAULTS_NAMED).map(named).collect(),
        }
    }

    /// The violations of the expectation, in words.
    pub fn violations(&self) -> Vec<String> {
        if self.expected == ExpectedOrder::Unchecked {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut say = |number: u64, what: &str, kind: FaultKind| {
            if number > 0 {
                let example = self.faults.iter().find(|fault| fault.kind == kind);
                let example = example.map_or_else(String::new, |fault| {
                    let MessageName { publisher, number } = fault.message;
                    let address = fault.address + 1;
                    format!(", such as {number} of publisher {publisher} at address {address}")
                });
                found.push(format!("{} messages {what}{example}", count(number)));
            }
        };
        say(self.gaps, "never arrived, and the server did not say so", FaultKind::Gap);
        say(self.doubles, "arrived again", FaultKind::Double);
        say(self.late, "arrived after a later one of the same publisher", FaultKind::Late);
        if self.unordered > 0 && self.expected == ExpectedOrder::All {
            let names = self.unordered_example.iter().map(|name| {
                let MessageName { publisher, number } = name;
                format!("{number} of publisher {publisher}")
            });
            let names = names.collect::<Vec<_>>().join(", then ");
            found.push(format!(
                "{} messages came in different orders to different subscribers: {names}, then the first again",
                count(self.unordered)
            ));
        }
        found
    }
}
