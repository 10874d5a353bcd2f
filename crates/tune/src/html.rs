//! An audit as an HTML page.

use bench::report::html::{HtmlPage, document, section, write_table};

use crate::audit::{AuditReport, Audited};
use crate::finding::{Evidence, Finding};
use crate::text::worth;

/// The page of a report: what costs, the details of each of those checks, then the other checks.
pub fn to_html(report: &AuditReport) -> String {
    document("velodrome tune audit", |page| {
        page.element("header", &[], |page| {
            page.leaf("p", &[("class", &"tool")], "velodrome tune audit");
            page.leaf("h1", &[], &report.host);
            page.leaf("p", &[("class", &"plan")], format!("for {}", report.load.name()));
        });
        section(page, "What costs", |page| costs(report, page));
        for audited in report.costs() {
            section(page, audited.check.id, |page| explain(audited, page));
        }
        let is_unknown = |audited: &&Audited| matches!(audited.finding, Finding::Unknown(_));
        section(page, "What cannot be judged", |page| list(report, page, is_unknown));
        let is_right =
            |audited: &&Audited| matches!(audited.finding, Finding::Good(_) | Finding::NotHere(_));
        section(page, "What is right, or not here", |page| list(report, page, is_right));
    })
}

fn costs(report: &AuditReport, page: &mut HtmlPage) {
    let rows = report.costs().map(|audited| {
        let check = audited.check;
        let evidence = match audited.finding {
            Finding::Costs(Evidence::Seen, ..) => "counters show it",
            _ => "set so",
        };
        vec![
            check.id.to_owned(),
            worth(audited, report.load),
            format!("{}: {}", check.risk.class(), check.risk.name()),
            evidence.to_owned(),
            audited.finding.text().to_owned(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        page.leaf("p", &[], "No check found a cost.");
    } else {
        write_table(page, &["check", "worth", "risk", "evidence", "what was found"], rows);
    }
}

fn list(report: &AuditReport, page: &mut HtmlPage, is_meant: impl Fn(&&Audited) -> bool) {
    let rows = report
        .findings
        .iter()
        .filter(is_meant)
        .map(|audited| vec![audited.check.id.to_owned(), audited.finding.text().to_owned()]);
    write_table(page, &["check", "what was found"], rows);
}

fn explain(audited: &Audited, page: &mut HtmlPage) {
    let check = audited.check;
    for text in [
        format!("{}: {}.", check.title, audited.finding.text()),
        check.why.to_owned(),
        format!("Expected gain: {}.", check.expected),
        check.fix.to_owned(),
        format!("Risk {} of 5: {}. Lost: {}.", check.risk.class(), check.risk.name(), check.lost),
        format!("Source: {}", check.source),
    ] {
        page.leaf("p", &[], text);
    }
    if let Some(why) = &audited.hindrance {
        page.leaf("p", &[], format!("It cannot be written here: {why}."));
    }
}
