//! A plan: what would be changed, in which order, with the bytes before and after.
//!
//! Owns which checks are in it: those that cost, and whose mend is a file of the kernel with a risk that is allowed.

use crate::audit::Report;
use crate::changes::{Change, changes_of, owners_of};
use crate::check::{Check, Risk};
use crate::host::Host;

/// One step: the mend of one check.
#[derive(Debug)]
pub struct Step {
    /// The check.
    pub check: &'static Check,
    /// The files and their new values.
    pub changes: Vec<Change>,
    /// Files that set the same at boot.
    pub owners: Vec<String>,
}

/// What would be changed.
#[derive(Debug)]
pub struct Plan {
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// Checks that cost and are left out: because of their risk, or because there is something to type.
    pub left_out: Vec<(&'static Check, &'static str)>,
}

/// The plan for what a report has found, with mends up to this risk.
#[must_use]
pub fn plan(host: &Host, report: &Report, most: Risk) -> Plan {
    let (mut steps, mut left_out) = (Vec::new(), Vec::new());
    for audited in report.costs() {
        let check = audited.check;
        let changes = changes_of(check.id, host);
        if changes.is_empty() {
            left_out.push((check, "it is to be typed; see --explain"));
        } else if check.risk > most {
            left_out.push((check, "its risk is not allowed; see --allow"));
        } else {
            let mut owners: Vec<String> =
                changes.iter().flat_map(|change| owners_of(&change.path, host)).collect();
            owners.sort_unstable();
            owners.dedup();
            steps.push(Step { check, changes, owners });
        }
    }
    Plan { steps, left_out }
}
