//! The lines about encryption: what was agreed on, the certificate, and the handshakes that failed.
//!
//! Never shows a certificate that was not checked without saying so.

use std::fmt::{self, Write};

use crate::report::encryption::{AgreementReport, EncryptionPlanReport, EncryptionReport};
use crate::report::encryption::{HandshakeFaultReport, sum_faults};
use crate::report::figures::{count, name, numbered, percent};
use crate::report::run::RunReport;
use crate::report::schema::Report;

/// The words of a report about a certificate that was not checked.
pub(crate) const NOT_CHECKED: &str = "NOT CHECKED (--insecure)";

/// Writes the lines: agreements of this run, failures of all runs.
pub(super) fn write(report: &Report, run: &RunReport, out: &mut impl Write) -> fmt::Result {
    let Some(plan) = &report.plan.tls else { return Ok(()) };
    let faults = sum_faults(report.runs.iter().filter_map(|run| run.tls.as_ref()));
    let lines = lines(plan, run.tls.as_ref(), &faults, report.begun_unix_s);
    for (line, at) in lines.iter().zip(0..) {
        name(out, if at == 0 { "tls" } else { "" })?;
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The lines about the agreements of one run, and about the handshakes that failed in all runs. The time says how much
/// of a certificate's life is left.
pub(crate) fn lines(
    plan: &EncryptionPlanReport,
    tls: Option<&EncryptionReport>,
    faults: &[HandshakeFaultReport],
    now_unix_s: u64,
) -> Vec<String> {
    let Some(tls) = tls else { return vec!["no handshake was made".to_owned()] };
    let failed: u64 = faults.iter().map(|fault| fault.count).sum();
    let mut lines = vec![format!(
        "{}, {} resumed ({}), {} failed",
        numbered(tls.full + tls.resumed, "handshake"),
        count(tls.resumed),
        percent(tls.resumed_share()),
        count(failed)
    )];
    for agreement in &tls.agreements {
        let each = AgreementReport::words(agreement);
        lines.push(match tls.agreements.len() {
            1 => each,
            _ => format!("{each} ({})", numbered(agreement.connections, "connection")),
        });
        if let Some(certificate) = &agreement.certificate {
            let words = certificate.words(now_unix_s);
            lines.push(if plan.insecure { format!("{words}, {NOT_CHECKED}") } else { words });
        }
    }
    lines.extend(
        faults.iter().map(|fault| format!("failed {}: {}", count(fault.count), fault.text)),
    );
    lines
}
