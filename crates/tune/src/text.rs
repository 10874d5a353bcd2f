//! A report that a person likes to read.

use std::fmt::Write;

use crate::audit::{Audited, Report};
use crate::check::{Check, Load, Risk};
use crate::finding::{Evidence, Finding};

impl Load {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Connections => "connections",
            Self::Density => "density",
        }
    }
}

/// The report as text: what costs, what cannot be judged, and how much is right.
#[must_use]
pub fn to_text(report: &Report) -> String {
    let mut text = format!("{}, for {}\n", report.host, report.load.name());
    let costs: Vec<&Audited> = report.costs().collect();
    if costs.is_empty() {
        text.push_str("\nNothing that was looked at costs anything.\n");
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
        "\n{} checks: {} cost something, {rest} do not, {} cannot be judged.\nvelodrome tune audit --explain NAME says why, what it risks, and what to type.\n",
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
    let worth = audited.worth(load);
    let worth = if worth >= 0.5 { format!("up to {worth:2.0} %") } else { "little    ".to_owned() };
    let _endless = writeln!(
        text,
        "{evidence}  {:width$}  {worth}  risk {}: {}\n      {}: {}",
        check.id,
        check.risk.class(),
        check.risk.name(),
        check.title,
        audited.finding.text(),
    );
    if let Some(why) = &audited.hindrance {
        let _endless = writeln!(text, "      its mend cannot be written here: {why}");
    }
}

/// All that is known of a check: why it costs, what the mend is worth and risks, what one would type.
#[must_use]
pub fn explanation(check: &Check, found: &Finding) -> String {
    let Check { id, title, why, mend, expected, risk, lost, source, .. } = check;
    let state = match found {
        Finding::Costs(Evidence::Seen, ..) => "costs, as counters show",
        Finding::Costs(Evidence::Set, ..) => "set so that it may cost",
        Finding::Good(_) => "right",
        Finding::NotHere(_) => "not on this host",
        Finding::Unknown(_) => "cannot be judged",
    };
    let reboot =
        if *risk == Risk::Reboot { " Only from the next start of the host on." } else { "" };
    format!(
        "{id}: {title}\nhere: {state}: {}\n\n{why} What the mend is worth: {expected}.\n\n{mend}{reboot}\nRisk {} of 5: {}. Lost: {lost}.\n\nSource: {source}\n",
        found.text(),
        risk.class(),
        risk.name(),
    )
}
