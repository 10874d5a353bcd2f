//! A plan: what would be changed, in which order, with the old and new bytes.
//!
//! Owns which checks are in it: those that cost, and whose fix is a kernel file or device setting
//! with an allowed risk.

use crate::audit::AuditReport;
use crate::changes::{FileChange, changes_of};
use crate::check::{Allowed, Check};
use crate::host::HostReading;
use crate::interrupts::interrupts_of;
use crate::owner::SettingOwner;
use crate::owners::{filter_maker, owners_of};
use crate::settings::device_of;

/// One step: the fix of one check.
#[derive(Debug)]
pub struct PlanStep {
    /// The check.
    pub check: &'static Check,
    /// The files and their new values.
    pub changes: Vec<FileChange>,
    /// The files and programs that set the same kernel files.
    pub owners: Vec<SettingOwner>,
    /// The reason why it cannot be written here.
    pub hindrance: Option<String>,
}

/// The changes that would be made.
#[derive(Debug)]
pub struct ChangePlan {
    /// The steps, in their order.
    pub steps: Vec<PlanStep>,
    /// Checks that cost and are left out: because of their risk, or because the operator has to type the fix.
    pub left_out: Vec<(&'static Check, String)>,
}

/// The plan for a report, with fixes whose risk is allowed.
pub fn plan(host: &HostReading, report: &AuditReport, allowed: &Allowed) -> ChangePlan {
    let (mut steps, mut left_out) = (Vec::new(), Vec::new());
    for audited in report.costs() {
        let check = audited.check;
        let changes = changes_of(check.id, host);
        if changes.is_empty() {
            left_out.push((check, typed(host, check)));
        } else if !allowed.has(check.risk) {
            let class = check.risk.class();
            left_out.push((check, format!("its risk is not allowed; see --allow {class}")));
        } else {
            let mut owners: Vec<SettingOwner> =
                changes.iter().flat_map(|change| owners_of(&change.path, host)).collect();
            let mut told = Vec::new();
            owners.retain(|owner| {
                let is_new = !told.contains(owner);
                told.push(owner.clone());
                is_new
            });
            let hindrance = audited.hindrance.clone();
            steps.push(PlanStep { check, changes, owners, hindrance });
        }
    }
    leave_growing_devices(host, &mut steps, &mut left_out);
    ChangePlan { steps, left_out }
}

/// The step that gives a device more queues.
const MORE_QUEUES: &str = "net.queues";

/// Removes from the other steps the changes for queues of a device that gets more queues: the queues have other
/// interrupts afterwards, and may need no change.
fn leave_growing_devices(
    host: &HostReading,
    steps: &mut Vec<PlanStep>,
    left_out: &mut Vec<(&'static Check, String)>,
) {
    let Some(more) = steps.iter().find(|step| step.check.id == MORE_QUEUES) else { return };
    let devices: Vec<String> = more
        .changes
        .iter()
        .filter_map(|change| device_of(&change.path))
        .map(str::to_owned)
        .collect();
    let mut places = Vec::new();
    for device in &devices {
        places.push(format!("/sys/class/net/{device}/queues/"));
        let interrupts = interrupts_of(host, device).into_iter();
        places.extend(interrupts.map(|one| format!("/proc/irq/{}/", one.number)));
    }
    steps.retain_mut(|step| {
        let is_theirs = |path: &str| places.iter().any(|place| path.starts_with(&**place));
        step.changes.retain(|change| !is_theirs(&change.path));
        if step.changes.is_empty() {
            let why = format!(
                "{} has more queues first ({MORE_QUEUES}): plan again afterwards",
                devices.join(", ")
            );
            left_out.push((step.check, why));
        }
        !step.changes.is_empty()
    });
}

/// Why the operator has to type the fix of a check, and which program would undo it.
fn typed(host: &HostReading, check: &Check) -> String {
    let maker = match check.id {
        "stack.netfilter" | "stack.notrack" | "stack.docker" => filter_maker(host),
        _ => None,
    };
    match maker {
        Some(maker) => format!("it is to be typed; see --explain. {maker} makes such rules anew"),
        None => "it is to be typed; see --explain".to_owned(),
    }
}
