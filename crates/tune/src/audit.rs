//! An audit: all checks on one host, sorted by what their fixes may gain.

use crate::changes::changes_of;
use crate::check::{Check, Load};
use crate::checks::ALL;
use crate::finding::{Evidence, Finding, Percent, Price};
use crate::host::HostReading;

/// The result of one check.
#[derive(Debug)]
pub struct Audited {
    /// The check.
    pub check: &'static Check,
    /// The finding.
    pub finding: Finding,
    /// If it costs: the reason why its fix cannot be written here.
    pub hindrance: Option<String>,
}

impl Audited {
    /// The gain of the fix on this host, in percent: the middle of its range.
    pub fn worth(&self, load: Load) -> f64 {
        self.range(load).map_or(0.0, Percent::middle)
    }

    /// The range of that gain; `None` if nothing costs. A published gain is one number.
    pub fn range(&self, load: Load) -> Option<Percent> {
        let Finding::Costs(_, _, price) = &self.finding else { return None };
        Some(match price {
            Price::Published(share) => {
                let gain = share * self.check.gain.for_load(load);
                Percent { low: gain, high: gain }
            }
            Price::Scaled(range) | Price::Measured(range) => *range,
        })
    }

    /// Costs that counters show come before settings that may cost, and settings whose price was counted here before
    /// those with a constant; within each the larger gain comes first.
    fn rank(&self, load: Load) -> (u8, f64) {
        match &self.finding {
            Finding::Costs(Evidence::Seen, ..) => (0, -self.worth(load)),
            Finding::Costs(Evidence::Set, _, Price::Scaled(_) | Price::Measured(_)) => {
                (1, -self.worth(load))
            }
            Finding::Costs(Evidence::Set, _, Price::Published(_)) => (2, -self.worth(load)),
            Finding::Unknown(_) => (3, 0.0),
            Finding::Good(_) => (4, 0.0),
            Finding::NotHere(_) => (5, 0.0),
        }
    }
}

/// The results of an audit.
#[derive(Debug)]
pub struct AuditReport {
    /// The load it is for.
    pub load: Load,
    /// The kernel, the CPUs and the time between the two readings, in words.
    pub host: String,
    /// All checks; the most expensive first.
    pub findings: Vec<Audited>,
}

impl AuditReport {
    /// The checks that cost, the most expensive first.
    pub fn costs(&self) -> impl Iterator<Item = &Audited> {
        self.findings.iter().filter(|audited| matches!(audited.finding, Finding::Costs(..)))
    }
}

/// Runs all checks on a host.
pub fn audit(host: &HostReading, load: Load) -> AuditReport {
    let audited = |check: &'static Check| {
        let finding = match host.barred(check.id) {
            Some(why) => Finding::Unknown(why.into()),
            None => check.finding(host),
        };
        Audited { check, finding, hindrance: None }
    };
    let mut findings: Vec<Audited> =
        ALL.iter().flat_map(|checks| checks.iter()).map(audited).collect();
    // A setting whose fix gains nothing for this load does not cost.
    for audited in &mut findings {
        if let Finding::Costs(Evidence::Set, text, Price::Published(_)) = &audited.finding
            && audited.check.gain.for_load(load) == 0.0
        {
            audited.finding = Finding::Good(format!("{text}; it is nothing to this load"));
        }
    }
    for audited in &mut findings {
        if matches!(audited.finding, Finding::Costs(..)) {
            let changes = changes_of(audited.check.id, host);
            audited.hindrance = changes.iter().find_map(|change| host.hindrance(&change.path));
        }
    }
    findings.sort_by(|one, other| {
        one.rank(load).partial_cmp(&other.rank(load)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let release =
        host.text("/proc/sys/kernel/osrelease").unwrap_or_else(|| "an unknown release".to_owned());
    let host = format!(
        "Linux {release}, {} CPUs, counters {}{}",
        host.now.cpus.len(),
        host.span(),
        host.elsewhere()
    );
    AuditReport { load, host, findings }
}
