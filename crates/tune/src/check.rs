//! A check: what it inspects, what it can cost, and what the fix risks.
//!
//! Owns the texts and numbers of a check, which are the same for every host.

use crate::finding::{Finding, Judged};
use crate::host::HostReading;

/// The goal for which the host is optimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Requests a second.
    #[default]
    Throughput,
    /// Response time, including the slowest responses.
    Latency,
    /// Very many open connections.
    Connections,
    /// Many other programs on the same machine.
    Density,
}

/// The risk of a fix, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// It affects the server's own process only.
    Process,
    /// It can be reverted at any time, and weakens nothing.
    Reversible,
    /// It affects other programs of the host.
    Host,
    /// Traffic may stop for a moment, or the operator may lose access.
    Interruption,
    /// It weakens security.
    Security,
    /// It needs a reboot.
    Reboot,
}

/// The risks that a fix may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed(Vec<Risk>);

impl Allowed {
    /// All risks up to this one.
    pub fn up_to(most: Risk) -> Self {
        Self(Risk::ALL.into_iter().filter(|risk| *risk <= most).collect())
    }

    /// The risks of these classes: 3, 4 and 5 allow themselves and 0 to 2; a lower one allows all below it.
    pub fn of(classes: &[u8]) -> Self {
        let usual = Risk::Host.class();
        let most = classes.iter().copied().filter(|class| *class <= usual).max().unwrap_or(usual);
        let is_allowed = |risk: &Risk| {
            let class = risk.class();
            class <= most || (class > usual && classes.contains(&class))
        };
        Self(Risk::ALL.into_iter().filter(is_allowed).collect())
    }

    /// Whether this risk is allowed.
    pub fn has(&self, risk: Risk) -> bool {
        self.0.contains(&risk)
    }
}

impl Risk {
    /// All risks, from least to most.
    const ALL: [Self; 6] = [
        Self::Process,
        Self::Reversible,
        Self::Host,
        Self::Interruption,
        Self::Security,
        Self::Reboot,
    ];

    /// Its class, from 0 to 5.
    pub fn class(self) -> u8 {
        self as u8
    }

    /// Its name, for use in a sentence.
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

/// The gain of a fix in percent, per load; 0 if it is not known to help.
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
    /// The gain from four percentages, in the order of the loads.
    pub const fn of(throughput: f64, latency: f64, connections: f64, density: f64) -> Self {
        Self { throughput, latency, connections, density }
    }

    /// The gain for one load.
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
    /// Its name: the layer, a dot, the subject.
    pub id: &'static str,
    /// The subject, in a few words.
    pub title: &'static str,
    /// The gain of the fix.
    pub gain: Gain,
    /// The gain in words, as its source states it.
    pub expected: &'static str,
    /// The risk of the fix.
    pub risk: Risk,
    /// The benefit that the fix gives up.
    pub lost: &'static str,
    /// Why it costs, and when.
    pub why: &'static str,
    /// The text that one would type.
    pub fix: &'static str,
    /// Where this is from.
    pub source: &'static str,
    /// Looks at a host.
    pub judge: fn(&HostReading) -> Judged,
}

impl Check {
    /// Its finding on a host.
    pub fn finding(&self, host: &HostReading) -> Finding {
        (self.judge)(host).unwrap_or_else(|unjudged| unjudged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dear_risk_is_allowed_by_itself() {
        let allowed = |classes: &[u8]| -> Vec<u8> {
            let allowed = Allowed::of(classes);
            Risk::ALL.into_iter().filter(|risk| allowed.has(*risk)).map(Risk::class).collect()
        };
        assert_eq!(allowed(&[]), [0, 1, 2]);
        assert_eq!(allowed(&[1]), [0, 1]);
        assert_eq!(allowed(&[5]), [0, 1, 2, 5]);
        assert_eq!(allowed(&[3, 4]), [0, 1, 2, 3, 4]);
        assert_eq!(allowed(&[0, 4]), [0, 4]);
        assert_eq!(Allowed::up_to(Risk::Reboot), Allowed::of(&[3, 4, 5]));
    }
}
