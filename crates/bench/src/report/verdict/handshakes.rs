//! The rules about TLS handshakes.
//!
//! Owns these rules and their texts. Never excuses a failed handshake: the requests after it were never sent, so rate
//! and times describe another load than the planned one.

use super::{Finding, ReasonCode};
use crate::limits::RESUMED_SHARE_MINIMUM;
use crate::report::encryption::HandshakeFaultReport;
use crate::report::figures::{count, numbered, percent};
use crate::report::measured::PlanReport;
use crate::report::run::RunReport;

pub(super) fn handshakes_failed(run: &RunReport) -> Option<Finding> {
    let tls = run.tls.as_ref()?;
    let told = |fault: &HandshakeFaultReport| match &fault.mend {
        Some(mend) => format!("{} times {} ({mend})", count(fault.count), fault.text),
        None => format!("{} times {}", count(fault.count), fault.text),
    };
    let causes: Vec<String> = tls.failed.iter().map(told).collect();
    let text =
        format!("{} failed: {}", numbered(tls.failures(), "TLS handshake"), causes.join("; "));
    (!causes.is_empty()).then_some((ReasonCode::HandshakesFailed, text))
}

/// The figures are as good, but they may be of another server than the named one.
pub(super) fn not_checked(plan: &PlanReport) -> Option<Finding> {
    let text = "certificates were not checked (--insecure): another server may have answered";
    let is_insecure = plan.tls.as_ref().is_some_and(|tls| tls.insecure);
    is_insecure.then(|| (ReasonCode::NotChecked, text.to_owned()))
}

/// If connections are kept, there is hardly a handshake that could be resumed.
pub(super) fn not_resumed(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    let tls = run.tls.as_ref()?;
    let is_wanted = plan.tls.as_ref().is_some_and(|tls| tls.wants_resumption());
    let share = tls.resumed_share();
    let text = format!(
        "{} of the handshakes resumed a session (--tls-resume): the server gave no ticket for the others, \
         or did not accept it",
        percent(share),
    );
    let is_rare = share < RESUMED_SHARE_MINIMUM && tls.full > 0;
    (is_wanted && is_rare && plan.requests_per_connection.is_some())
        .then_some((ReasonCode::NotResumed, text))
}
