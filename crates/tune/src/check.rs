//! A check: what is looked at, what it can cost, and what the mend risks.
//!
//! Owns the words and numbers of a check, which are the same for every host.

use crate::finding::Finding;
use crate::host::Host;

/// What the host is to be good at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Requests a second.
    #[default]
    Throughput,
    /// The time to an answer, and that of the slowest ones.
    Latency,
    /// Very many connections that stand.
    Connections,
    /// Much else on the same machine.
    Density,
}

/// What the mend of a check risks, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// The server's own process alone.
    Process,
    /// Can be taken back at any time, and weakens nothing.
    Reversible,
    /// Other programs of the host are changed as well.
    Host,
    /// Traffic may stop for a moment, or the operator be locked out.
    Interruption,
    /// Protection is lost.
    Security,
    /// The host has to be started anew.
    Reboot,
}

impl Risk {
    /// Its number, from 0 to 5.
    #[must_use]
    pub fn class(self) -> u8 {
        self as u8
    }

    /// Its name in a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "own process only",
            Self::Reversible => "reversible at once",
            Self::Host => "changes other programs too",
            Self::Interruption => "may interrupt traffic",
            Self::Security => "weakens security",
            Self::Reboot => "needs a reboot",
        }
    }
}

/// Percent that the mend may be worth, for each load; 0 where it is not known to help.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gain {
    /// For [`Load::Throughput`].
    pub throughput: f64,
    /// For [`Load::Latency`].
    pub latency: f64,
    /// For [`Load::Connections`].
    pub connections: f64,
    /// For [`Load::Density`].
    pub density: f64,
}

impl Gain {
    /// Of these percents, in the order of the loads.
    #[must_use]
    pub const fn of(throughput: f64, latency: f64, connections: f64, density: f64) -> Self {
        Self { throughput, latency, connections, density }
    }

    /// For one load.
    #[must_use]
    pub fn for_load(self, load: Load) -> f64 {
        match load {
            Load::Throughput => self.throughput,
            Load::Latency => self.latency,
            Load::Connections => self.connections,
            Load::Density => self.density,
        }
    }
}

/// A check.
#[derive(Debug)]
pub struct Check {
    /// Its name: the layer, a dot, the thing.
    pub id: &'static str,
    /// The thing that is looked at, in a few words.
    pub title: &'static str,
    /// What the mend may be worth.
    pub gain: Gain,
    /// The gain in words, as its source has it.
    pub expected: &'static str,
    /// What the mend risks.
    pub risk: Risk,
    /// The loss that comes with the mend.
    pub lost: &'static str,
    /// Why it costs, and when.
    pub why: &'static str,
    /// What one would type.
    pub mend: &'static str,
    /// Where this is from.
    pub source: &'static str,
    /// Looks at a host.
    pub judge: fn(&Host) -> Finding,
}
