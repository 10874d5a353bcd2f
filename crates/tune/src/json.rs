//! A report as JSON.

use serde_json::{Value, json};

use crate::audit::AuditReport;
use crate::check::{Check, Load};
use crate::finding::{Evidence, Finding};

fn state(finding: &Finding) -> &'static str {
    match finding {
        Finding::Costs(Evidence::Seen, ..) => "seen",
        Finding::Costs(Evidence::Set, ..) => "set",
        Finding::Good(_) => "good",
        Finding::NotHere(_) => "not-here",
        Finding::Unknown(_) => "unknown",
    }
}

/// Gains are estimates: more decimals would say nothing.
fn round(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

/// How the price is known; `null` if nothing costs.
fn price(finding: &Finding) -> Option<&'static str> {
    match finding {
        Finding::Costs(_, _, price) => Some(price.name()),
        Finding::Good(_) | Finding::NotHere(_) | Finding::Unknown(_) => None,
    }
}

/// `{"load":"throughput","host":"…","checks":[{"id":"env.quota","state":"seen","found":"…","worth_percent":40.0,"worth_range":[30.0,50.0],"price":"measured","risk":0,…}]}`;
/// the most expensive check first.
pub fn to_json(report: &AuditReport) -> Value {
    let checks = report.findings.iter().map(|audited| {
        json!({
            "id": audited.check.id,
            "title": audited.check.title,
            "state": state(&audited.finding),
            "found": audited.finding.text(),
            "worth_percent": round(audited.worth(report.load)),
            "worth_range": audited.range(report.load).map(|range| [round(range.low), round(range.high)]),
            "price": price(&audited.finding),
            "risk": audited.check.risk.class(),
            "lost": audited.check.lost,
            "hindrance": audited.hindrance,
        })
    });
    json!({ "load": report.load.name(), "host": report.host, "checks": checks.collect::<Vec<_>>() })
}

/// All details of a check, and its finding.
pub fn explanation_to_json(check: &Check, found: &Finding) -> Value {
    let gain = |load: Load| check.gain.for_load(load);
    json!({
        "id": check.id,
        "title": check.title,
        "state": state(found),
        "found": found.text(),
        "why": check.why,
        "fix": check.fix,
        "expected": check.expected,
        "gain_percent": {
            "throughput": gain(Load::Throughput),
            "latency": gain(Load::Latency),
            "connections": gain(Load::Connections),
            "density": gain(Load::Density),
        },
        "risk": check.risk.class(),
        "lost": check.lost,
        "source": check.source,
    })
}
