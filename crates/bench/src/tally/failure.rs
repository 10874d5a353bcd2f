//! The kinds of failure.
//!
//! Owns their names and how often each happened. Never decides which one happened: the client does.

use serde::{Deserialize, Serialize};

/// Why a request came to nothing good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No connection could be opened for it.
    Connect,
    /// A connection was opened for it, and its TLS handshake failed.
    Handshake,
    /// The connection ended before the answer was whole: a reset, or an early close.
    Reset,
    /// No whole answer came in time.
    Timeout,
    /// A whole answer came, with a status that was not wanted, or of a store an error.
    Status,
    /// A whole answer came, with a body that was not wanted, or of a store another value than that of the key.
    Check,
    /// The bytes that came were no answer.
    Garbage,
}

impl FailureKind {
    /// How many kinds there are.
    pub const COUNT: usize = 7;

    /// All kinds, in the order in which they can happen to a request.
    pub const ALL: [FailureKind; FailureKind::COUNT] = [
        FailureKind::Connect,
        FailureKind::Handshake,
        FailureKind::Reset,
        FailureKind::Timeout,
        FailureKind::Status,
        FailureKind::Check,
        FailureKind::Garbage,
    ];

    /// The name, as in every report.
    pub const fn name(self) -> &'static str {
        match self {
            FailureKind::Connect => "connect",
            FailureKind::Handshake => "handshake",
            FailureKind::Reset => "reset",
            FailureKind::Timeout => "timeout",
            FailureKind::Status => "status",
            FailureKind::Check => "check",
            FailureKind::Garbage => "garbage",
        }
    }
}

/// How often each kind of failure happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCounts {
    /// See [`FailureKind::Connect`].
    pub connect: u64,
    /// See [`FailureKind::Handshake`].
    #[serde(default)]
    pub handshake: u64,
    /// See [`FailureKind::Reset`].
    pub reset: u64,
    /// See [`FailureKind::Timeout`].
    pub timeout: u64,
    /// See [`FailureKind::Status`].
    pub status: u64,
    /// See [`FailureKind::Check`].
    pub check: u64,
    /// See [`FailureKind::Garbage`].
    pub garbage: u64,
}

impl FailureCounts {
    /// Counts one more of the kind.
    pub fn add(&mut self, kind: FailureKind) {
        *self.slot(kind) += 1;
    }

    /// How many of the kind.
    pub fn of(&self, kind: FailureKind) -> u64 {
        match kind {
            FailureKind::Connect => self.connect,
            FailureKind::Handshake => self.handshake,
            FailureKind::Reset => self.reset,
            FailureKind::Timeout => self.timeout,
            FailureKind::Status => self.status,
            FailureKind::Check => self.check,
            FailureKind::Garbage => self.garbage,
        }
    }

    /// How many of all kinds.
    pub fn total(&self) -> u64 {
        FailureKind::ALL.iter().map(|kind| self.of(*kind)).sum()
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &FailureCounts) {
        for kind in FailureKind::ALL {
            *self.slot(kind) += other.of(kind);
        }
    }

    fn slot(&mut self, kind: FailureKind) -> &mut u64 {
        match kind {
            FailureKind::Connect => &mut self.connect,
            FailureKind::Handshake => &mut self.handshake,
            FailureKind::Reset => &mut self.reset,
            FailureKind::Timeout => &mut self.timeout,
            FailureKind::Status => &mut self.status,
            FailureKind::Check => &mut self.check,
            FailureKind::Garbage => &mut self.garbage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_count_and_the_name_of_its_field() {
        let mut failures = FailureCounts::default();
        for (times, kind) in FailureKind::ALL.into_iter().enumerate() {
            (0..=times).for_each(|_| failures.add(kind));
        }
        assert_eq!(failures.total(), 1 + 2 + 3 + 4 + 5 + 6 + 7);
        let json = serde_json::to_value(failures).unwrap();
        for (times, kind) in FailureKind::ALL.into_iter().enumerate() {
            assert_eq!(failures.of(kind), times as u64 + 1);
            assert_eq!(json[kind.name()], times as u64 + 1);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        let mut twice = failures;
        twice.merge(&failures);
        assert_eq!(twice.garbage, 14);
    }
}
