//! Goal: the suite itself is right. Method: nginx is a well-tested server; each of its failures must be an
//! explained deviation, and every explained deviation must occur.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::nginx_server::Nginx;
use conformance::{CaseResult, Options, Suite, run};
use serde::Deserialize;

/// The version the deviations were written for.
const VERSION: &str = "1.22.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    id: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviations {
    deviation: Vec<Deviation>,
}

fn deviations() -> BTreeMap<String, String> {
    let data: Deviations =
        toml::from_str(include_str!("nginx_1_22_deviations.toml")).expect("the list is TOML");
    let mut reasons = BTreeMap::new();
    for Deviation { id, reason } in data.deviation {
        assert!(reason.len() > 20, "{id}: a reason is a sentence");
        assert!(reasons.insert(id.clone(), reason).is_none(), "{id} twice");
    }
    reasons
}

#[test]
fn deviations_name_cases_of_the_suite() {
    let suite = Suite::embedded().unwrap();
    for id in deviations().keys() {
        assert!(suite.cases().iter().any(|case| case.id == *id), "no case {id}");
    }
}

#[test]
fn nginx_fails_exactly_the_known_deviations() {
    let reason = match Nginx::version() {
        None => "nginx is not installed".to_owned(),
        Some(version) if !version.starts_with(VERSION) => {
            format!("the deviations are those of nginx {VERSION}x, this is {version}")
        }
        Some(_) => String::new(),
    };
    if !reason.is_empty() {
        eprintln!("SKIPPED nginx_fails_exactly_the_known_deviations: {reason}");
        return;
    }
    let nginx = Nginx::start();
    let options =
        Options { slow_deadline: Some(Duration::from_millis(2_500)), ..Options::default() };
    let report = run(&nginx.target(), &options);
    let known = deviations();
    let mut surprises = Vec::new();
    for case in &report.cases {
        match (&case.outcome, known.contains_key(&case.id)) {
            (CaseResult::Passed, false) | (CaseResult::Failed(_), true) => {}
            (CaseResult::Passed, true) => surprises.push(format!("{} passes", case.id)),
            (CaseResult::Failed(_), false) => surprises.push(format!("fails: {case:#?}")),
            (CaseResult::Skipped { reason }, _) => {
                surprises.push(format!("{} is skipped: {reason}", case.id));
            }
        }
    }
    assert!(surprises.is_empty(), "{}\n{}", surprises.join("\n"), report.counts.failed);
}
