//! Subscribers that do not stay: a reconnect storm, and churn.
//!
//! Owns their notation and their figures. Never closes a connection: `client` does.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::tally::Latency;

/// A reconnect storm: many subscribers lose their connection at one moment, and all come back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storm {
    /// How many; `None`: all except those that publish.
    pub subscribers: Option<u32>,
    /// When, from the moment at which publishing begins.
    pub after: Duration,
}

/// Why a text is not a storm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a storm; write all@5s, or 1000@5s")]
pub struct StormError(String);

impl Storm {
    /// Reads `N@TIME` or `all@TIME`; `time` reads a time.
    ///
    /// # Errors
    /// If it is neither.
    pub fn read(text: &str, time: impl Fn(&str) -> Option<Duration>) -> Result<Self, StormError> {
        let wrong = || StormError(text.to_owned());
        let (count, after) = text.split_once('@').ok_or_else(wrong)?;
        let subscribers = match count {
            "all" => None,
            count => Some(u32::from_str(count).ok().filter(|count| *count > 0).ok_or_else(wrong)?),
        };
        Ok(Self { subscribers, after: time(after).ok_or_else(wrong)? })
    }

    /// The storm of one of several generators.
    pub fn part(self, part: u32, parts: u32) -> Self {
        let subscribers = self.subscribers.map(|_| self.share(part, parts));
        Self { subscribers, ..self }
    }

    /// How many subscribers of one of several threads are cut.
    pub(super) fn share(self, part: u32, parts: u32) -> u32 {
        let of = |count: u32| count / parts.max(1) + u32::from(part < count % parts.max(1));
        self.subscribers.map_or(u32::MAX, of)
    }
}

/// The fate of subscribers that did not stay.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WorkloadTally {
    cut: u64,
    left: u64,
    retries: u64,
    /// From the cut until subscribed again.
    back: Latency,
    /// From the begin of a connect until subscribed, of those that came for others.
    joined: Latency,
    /// Those that were still away at the end.
    missing: u64,
}

impl WorkloadTally {
    /// Connections were cut.
    pub(super) fn cut(&mut self, subscribers: u64) {
        self.cut += subscribers;
    }

    /// A subscriber that was cut is back.
    pub(super) fn come_back(&mut self, after_ns: u64) {
        self.back.record(after_ns);
    }

    /// A subscriber left, so that another one comes.
    pub(super) fn leave(&mut self) {
        self.left += 1;
    }

    /// Another one has come.
    pub(super) fn join(&mut self, after_ns: u64) {
        self.joined.record(after_ns);
    }

    /// A connection could not be opened again, and is tried again.
    pub(super) fn retry(&mut self) {
        self.retries += 1;
    }

    /// A subscriber was still away at the end.
    pub(super) fn stay_away(&mut self) {
        self.missing += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.cut += other.cut;
        self.left += other.left;
        self.retries += other.retries;
        self.missing += other.missing;
        self.back.merge(&other.back);
        self.joined.merge(&other.joined);
    }

    /// How many were cut.
    pub(super) fn cuts(&self) -> u64 {
        self.cut
    }

    /// How many left.
    pub(super) fn leaves(&self) -> u64 {
        self.left
    }

    /// How many attempts to come back failed.
    pub(super) fn retries(&self) -> u64 {
        self.retries
    }

    /// How many were still away at the end.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// How long those that were cut were away.
    pub(super) fn back(&self) -> &Latency {
        &self.back
    }

    /// How long it took to join.
    pub(super) fn joined(&self) -> &Latency {
        &self.joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Storm, String> {
        let time = |text: &str| text.strip_suffix('s')?.parse().ok().map(Duration::from_secs);
        Storm::read(text, time).map_err(|error| error.to_string())
    }

    #[test]
    fn a_storm_has_a_number_and_a_time() {
        let after = Duration::from_secs(5);
        assert_eq!(read("all@5s"), Ok(Storm { subscribers: None, after }));
        assert_eq!(read("1000@5s"), Ok(Storm { subscribers: Some(1000), after }));
        for wrong in ["5s", "0@5s", "-1@5s", "all@", "some@5s"] {
            assert!(read(wrong).unwrap_err().contains("write all@5s"), "{wrong}");
        }
    }

    #[test]
    fn shares_of_a_storm_are_all_of_it() {
        let storm = read("10@1s").unwrap();
        let shares: Vec<u32> = (0..3).map(|part| storm.share(part, 3)).collect();
        assert_eq!(shares, [4, 3, 3]);
        assert_eq!(read("all@1s").unwrap().share(1, 3), u32::MAX);
    }
}
