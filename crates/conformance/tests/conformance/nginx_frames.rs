//! Goal: the HTTP/2 suite itself is right. Method: each failure of nginx must be an explained deviation, and every
//! explained deviation must occur.

use std::collections::BTreeMap;
use std::time::Duration;

use conformance::h2::{FrameSuite, run_frames};
use conformance::{CaseResult, Options};
use serde::Deserialize;

use crate::nginx_server::Nginx;

/// The version the deviations were written for.
const VERSION: &str = "1.22.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    reason: String,
    ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviations {
    deviation: Vec<Deviation>,
}

fn deviations() -> BTreeMap<String, String> {
    let data: Deviations =
        toml::from_str(include_str!("nginx_1_22_frame_deviations.toml")).expect("the list is TOML");
    let mut reasons = BTreeMap::new();
    for Deviation { reason, ids } in data.deviation {
        assert!(reason.len() > 20, "{ids:?}: a reason is a sentence");
        for id in ids {
            assert!(reasons.insert(id.clone(), reason.clone()).is_none(), "{id} twice");
        }
    }
    reasons
}

#[test]
fn frame_deviations_name_cases_of_the_suite() {
    let suite = FrameSuite::embedded().unwrap();
    for id in deviations().keys() {
        assert!(suite.ids().any(|other| other == id), "no case {id}");
    }
}

#[test]
fn nginx_fails_exactly_the_known_frame_deviations() {
    let reason = match Nginx::version() {
        None => "nginx is not installed".to_owned(),
        Some(version) if !version.starts_with(VERSION) => {
            format!("the deviations are those of nginx {VERSION}x, this is {version}")
        }
        Some(_) => String::new(),
    };
    if !reason.is_empty() {
        eprintln!("SKIPPED nginx_fails_exactly_the_known_frame_deviations: {reason}");
        return;
    }
    let nginx = Nginx::start_frames();
    // A case that fails waits to the end of its patience: these wait side by side.
    let patience = Duration::from_secs(8);
    let options = Options {
        threads: 64,
        response_timeout: patience,
        close_timeout: Duration::from_secs(3),
        ..Options::default()
    };
    let report = run_frames(&nginx.target(), &options);
    let known = deviations();
    let mut surprises = Vec::new();
    for case in &report.cases {
        match (&case.outcome, known.contains_key(&case.id)) {
            (CaseResult::Passed, true) => surprises.push(format!("{} passes", case.id)),
            (CaseResult::Failed(_), false) => surprises.push(format!("fails: {case:#?}")),
            // A feature that nginx does not announce cannot be tried on it.
            (CaseResult::Skipped { .. }, _)
            | (CaseResult::Passed, false)
            | (CaseResult::Failed(_), true) => {}
        }
    }
    assert!(report.counts.skipped < 25, "{} cases were skipped", report.counts.skipped);
    assert!(surprises.is_empty(), "{}\n{}", surprises.join("\n"), report.counts.failed);
}
