//! The JSON and its documentation say the same.

use std::collections::BTreeSet;

use bench::report::{ReadError, Report};
use serde_json::Value;

use crate::sample::{closed_plan, closed_run, hold, of, open_plan, open_run};

const DOCUMENT: &str = include_str!("../../../../docs/bench.md");

/// The part of the document that holds the tables of fields.
const HEADING: &str = "## The JSON report";

/// A report in which no list is empty and no field null.
fn full() -> Report {
    let mut plan = open_plan();
    plan.requests_per_connection = Some(100);
    plan.check = Some("status 200".to_owned());
    let mut run = open_run();
    run.steal_share = Some(0.5);
    run.tally.fail(bench::tally::FailureKind::Check, 0);
    let mut measured = of(plan, vec![run]);
    measured.hold = Some(hold());
    let mut report = Report::of(measured);
    // What an open loop has no use for.
    let closed = Report::of(of(closed_plan(), vec![closed_run()]));
    report.runs[0].littles_law = closed.runs[0].littles_law.clone();
    report
}

/// The paths of all values that are no objects and no lists.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let separator = if path.is_empty() { "" } else { "." };
                paths(field, &format!("{path}{separator}{name}"), found);
            }
        }
        Value::Array(items) => {
            assert!(!items.is_empty(), "{path} is empty in the example");
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        // Reasons that concern all runs have none.
        Value::Null => assert!(path.ends_with("[].run"), "{path} is null in the example"),
        _ => {
            found.insert(path.to_owned());
        }
    }
}

/// `a.{b,c}.d` stands for `a.b.d` and `a.c.d`.
fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, after) = rest.split_once('}').expect("a brace is closed");
    choices.split(',').flat_map(|choice| expand(&format!("{before}{choice}{after}"))).collect()
}

/// The fields in the tables of the document: name, unit, meaning, none of them empty.
fn documented() -> BTreeSet<String> {
    let (_, part) = DOCUMENT.split_once(HEADING).expect("the document has the part");
    let part = part.split("\n## ").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for row in part.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "field, unit, meaning: {row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        for field in expand(cells[0].trim_matches('`')) {
            assert!(found.insert(field.clone()), "{field} is documented twice");
        }
    }
    found
}

#[test]
fn every_field_is_documented_and_every_documented_field_exists() {
    let mut written = BTreeSet::new();
    paths(&serde_json::from_str(&full().to_json()).unwrap(), "", &mut written);
    let documented = documented();
    let missing: Vec<_> = written.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&written).collect();
    assert!(missing.is_empty(), "not documented: {missing:#?}");
    assert!(stale.is_empty(), "documented, but not there: {stale:#?}");
}

#[test]
fn a_report_comes_back_as_it_was() {
    let report = full();
    assert_eq!(report.schema, 1);
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
}

#[test]
fn other_texts_are_refused() {
    let json = full().to_json();
    let other = json.replacen("\"schema\": 1", "\"schema\": 2", 1);
    assert!(matches!(Report::from_json(&other), Err(ReadError::Schema(2))));
    assert!(matches!(Report::from_json("{\"schema\": 1}"), Err(ReadError::Form(_))));
    assert!(matches!(Report::from_json(&json[..500]), Err(ReadError::Form(_))));
    let message = Report::from_json(&other).unwrap_err().to_string();
    assert_eq!(message, "a report of schema 2, and this program reads schema 1");
}
