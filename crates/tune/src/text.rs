//! A report as text for a terminal.

use std::fmt::Write;

use crate::audit::{AuditReport, Audited};
use crate::check::{Check, Load, Risk};
use crate::finding::{Evidence, Finding, Price};

impl Load {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Connections => "connections",
            Self::Density => "density",
        }
    }
}

/// The report as text: what costs, what cannot be judged, and the number of checks that found nothing.
pub fn to_text(report: &AuditReport) -> String {
    let mut text = format!("{}, for {}\n", report.host, report.load.name());
    let costs: Vec<&Audited> = report.costs().collect();
    if costs.is_empty() {
        text.push_str("\nNo check found a cost.\n");
    } else {
        let width = costs.iter().map(|audited| audited.check.id.len()).max().unwrap_or(0);
        text.push('\n');
        for audited in &costs {
            push_cost(&mut text, audited, report.load, width);
        }
    }
    let is_unknown = |audited: &&Audited| matches!(audited.finding, Finding::Unknown(_));
    let unknown: Vec<&Audited> = report.findings.iter().filter(is_unknown).collect();
    if !unknown.is_empty() {
        text.push_str("\ncannot be judged\n");
        for audited in &unknown {
            let _endless = writeln!(text, "  {}: {}", audited.check.id, audited.finding.text());
        }
    }
    let rest = report.findings.len() - costs.len() - unknown.len();
    let _endless = write!(
        text,
        "\n{} checks: {} cost something, {rest} do not, {} cannot be judged.\nvelodrome tune audit \
         --explain NAME shows the reason, the risk and the commands.\n",
        report.findings.len(),
        costs.len(),
        unknown.len(),
    );
    text
}

fn push_cost(text: &mut String, audited: &Audited, load: Load, width: usize) {
    let check = audited.check;
    let evidence = match audited.finding {
        Finding::Costs(Evidence::Seen, ..) => "seen",
        _ => "set ",
    };
    let worth = worth(audited, load);
    let _endless = writeln!(
        text,
        "{evidence}  {:width$}  {worth:20}  risk {}: {}\n      {}: {}",
        check.id,
        check.risk.class(),
        check.risk.name(),
        check.title,
        audited.finding.text(),
    );
    if let Some(why) = &audited.hindrance {
        let _endless = writeln!(text, "      the fix cannot be written here: {why}");
    }
}

/// The price of a finding in words: a range that was measured or scaled from counts, or a published number.
pub(crate) fn worth(audited: &Audited, load: Load) -> String {
    let (Some(range), Finding::Costs(_, _, price)) = (audited.range(load), &audited.finding) else {
        return String::new();
    };
    let (low, high) = (range.low.round(), range.high.round());
    match price {
        Price::Published(_) | Price::Scaled(_) | Price::Measured(_) if high < 1.0 => {
            "little".to_owned()
        }
        Price::Published(_) => format!("up to {high:2} %"),
        Price::Scaled(_) if low == high => format!("about {high} %"),
        Price::Scaled(_) => format!("about {low} to {high} %"),
        Price::Measured(_) if low == high => format!("{high} % measured"),
        Price::Measured(_) => format!("{low} to {high} % measured"),
    }
}

/// All details of a check: why it costs, the gain and the risk of the fix, the commands to type.
pub fn explanation(check: &Check, found: &Finding) -> String {
    let Check { id, title, why, fix, expected, risk, lost, source, .. } = check;
    let state = match found {
        Finding::Costs(Evidence::Seen, ..) => "costs, according to counters",
        Finding::Costs(Evidence::Set, ..) => "set to a value that may cost",
        Finding::Good(_) => "ok",
        Finding::NotHere(_) => "not on this host",
        Finding::Unknown(_) => "cannot be judged",
    };
    let reboot = if *risk == Risk::Reboot { " Takes effect after a reboot." } else { "" };
    format!(
        "{id}: {title}\nhere: {state}: {}\n\n{why} Expected gain: {expected}.\n\n{fix}{reboot}\nRisk {} of \
         5: {}. Lost: {lost}.\n\nSource: {source}\n",
        found.text(),
        risk.class(),
        risk.name(),
    )
}
