//! The JSON of every verb agrees with its documentation.

use std::collections::BTreeSet;
use std::time::Duration;

use bench::channel::{
    AddressPair, ChannelReport, CheckReport, DeliveryFault, FaultKind, MessageName, PairReport,
    TimeDistribution, WorkloadReport,
};
use bench::compare::{Comparison, Side};
use bench::report::{
    AgentReport, AgentState, Ended, FailCondition, OwnWritesReport, ReadError, Report,
};
use serde_json::Value;

use crate::report::sample::{
    closed_plan, closed_run, encrypt, encryption_plan, hold, knee, of, open_plan, open_run,
};

const DOCUMENT: &str = include_str!("../../../../../docs/bench.md");

/// The part of the document with the tables of a report, to which others refer.
const REPORT: &str = "## The JSON report";

/// The unit of a field that is documented elsewhere with all its contents.
const REFERENCE: &str = "object";

/// A condition whose limit is in milliseconds.
fn failed_if(text: &str) -> FailCondition {
    let milliseconds =
        |text: &str| text.strip_suffix("ms")?.parse().ok().map(Duration::from_millis);
    FailCondition::read(text, milliseconds).expect("a right condition")
}

/// A report in which no list is empty and no field null.
fn full() -> Report {
    let mut plan = open_plan();
    plan.requests_per_connection = Some(100);
    plan.count = Some(1000);
    plan.check = Some("status 200".to_owned());
    plan.tls = Some(encryption_plan());
    let mut run = open_run();
    run.steal_share = Some(0.5);
    encrypt(&mut run.tally);
    let streams = run.tally.streams.get_or_insert_default();
    streams.limit(3);
    streams.end("RST_STREAM CANCEL".to_owned());
    run.tally.fail(bench::tally::FailureKind::Check, 0);
    let mut measured = of(plan, vec![run]);
    measured.hold = Some(hold());
    let mut report = Report::of(measured);
    // The parts that an open loop does not have.
    let closed = Report::of(of(closed_plan(), vec![closed_run()]));
    report.runs[0].littles_law = closed.runs[0].littles_law.clone();
    report.fail_if = vec![failed_if("p99>5ms").judge(&report)];
    report.agents = vec![lost_agent()];
    let lag = report.runs[0].service.clone();
    report.add_own_writes(OwnWritesReport {
        writes: 3,
        reads: 3,
        at_once: 1,
        later: 1,
        unseen: 1,
        went_back: 1,
        failed: 1,
        first_failure: Some("no".to_owned()),
        lag,
    });
    report
}

fn lost_agent() -> AgentReport {
    AgentReport {
        address: "127.0.0.1:1".to_owned(),
        clock_offset_ns: 1,
        clock_error_ns: 2,
        done: 3,
        state: AgentState::Lost,
        reasons: vec!["it closed the connection".to_owned()],
    }
}

/// A report of a channel in which no list is empty and no field null; `*` stands for any name.
fn full_channel() -> String {
    let times = TimeDistribution { min_ns: 1, p50_ns: 2, p99_ns: 3, p999_ns: 4, max_ns: 5 };
    let any = || [("*".to_owned(), 1)].into_iter().collect();
    let message = MessageName { publisher: 1, number: 2 };
    let report = ChannelReport {
        begun_unix_s: 1,
        subscribers: 1,
        wanted: 1,
        failed: any(),
        tls_plan: full().plan.tls,
        tls: full().runs[0].tls.clone(),
        published: 1,
        message_bytes: 1,
        received: 1,
        reach: 1.0,
        fewest: 1,
        most: 1,
        disordered: 1,
        ended: any(),
        elapsed_ns: 1,
        deliveries_per_s: 1.0,
        delivery: times,
        delivery_hdr_v2: "x".to_owned(),
        first: times,
        last: times,
        addresses: vec!["127.0.0.1:1".to_owned()],
        same_address: Some(times),
        other_address: Some(times),
        pairs: vec![PairReport {
            pair: AddressPair { from: 0, to: 0 },
            deliveries: 1,
            times,
            hdr_v2: "x".to_owned(),
        }],
        check: CheckReport {
            faults: vec![DeliveryFault { kind: FaultKind::Gap, message, address: 0, messages: 1 }],
            unordered_example: vec![message],
            ..CheckReport::default()
        },
        workload: Some(WorkloadReport {
            cut: 1,
            all_back_ns: Some(1),
            back: times,
            server_cpu_ns_per_reconnect: Some(1.0),
            retries: 1,
            missing: 1,
            left: 1,
            joined: times,
        }),
        agents: vec![lost_agent()],
        server_cpu_ns_per_delivery: Some(1.0),
        server_busy: Some(1.0),
        server_bytes_per_subscriber: Some(1.0),
        generator_busy: 1.0,
        valid: false,
        reasons: vec!["no".to_owned()],
    };
    report.to_json()
}

/// The paths of all values that are neither objects nor lists.
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
        // Reasons that concern all runs have no run.
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

/// A search in which no list is empty and no field null, as JSON.
fn full_knee() -> String {
    let mut report = knee();
    report.steps.retain(|step| !step.reasons.is_empty());
    report.plan.requests_per_connection = Some(100);
    report.plan.count = Some(1000);
    report.plan.stages = open_plan().stages;
    report.plan.check = Some("status 200".to_owned());
    report.plan.tls = Some(encryption_plan());
    report.to_json()
}

/// A comparison in which no list is empty: neither side is valid, and their settings differ.
fn full_comparison() -> String {
    let report = |connections| {
        let mut plan = open_plan();
        plan.connections = connections;
        let mut run = open_run();
        run.steal_share = Some(0.5);
        [Report::of(of(plan, vec![run]))]
    };
    let (first, second) = (report(4), report(5));
    let first = Side { name: "A", reports: &first };
    let second = Side { name: "B", reports: &second };
    let noise = Comparison::of(first, first, None, Ended::Complete);
    Comparison::of(first, second, Some(&noise), Ended::Complete).to_json()
}

/// The fields in the tables of a part of the document: name, unit, meaning, all of them non-empty.
fn documented(heading: &str) -> BTreeSet<String> {
    let (_, part) = DOCUMENT.split_once(heading).expect("the document has the part");
    let part = part.split("\n## ").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for row in part.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "field, unit, meaning: {row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        for field in expand(cells[0].trim_matches('`')) {
            let fields = if cells[1] == REFERENCE { referred(&field) } else { vec![field] };
            for field in fields {
                assert!(found.insert(field.clone()), "{field} is documented twice");
            }
        }
    }
    found
}

/// The fields of the object with that name in a report.
fn referred(object: &str) -> Vec<String> {
    let name = object.rsplit('.').next().unwrap_or_default();
    let begin = format!("{name}.");
    let fields = documented(REPORT).into_iter();
    let fields =
        fields.filter_map(|field| Some(format!("{object}.{}", field.strip_prefix(&begin)?)));
    let fields: Vec<String> = fields.collect();
    assert!(!fields.is_empty(), "a report has no {name}");
    fields
}

#[test]
fn every_field_is_documented_and_every_documented_field_exists() {
    for (heading, json) in [
        (REPORT, full().to_json()),
        ("## Comparing", full_comparison()),
        ("## The knee", full_knee()),
        ("## Channels", full_channel()),
    ] {
        let mut written = BTreeSet::new();
        paths(&serde_json::from_str(&json).unwrap(), "", &mut written);
        let documented = documented(heading);
        let missing: Vec<_> = written.difference(&documented).collect();
        let stale: Vec<_> = documented.difference(&written).collect();
        assert!(missing.is_empty(), "{heading}: not documented: {missing:#?}");
        assert!(stale.is_empty(), "{heading}: documented, but not there: {stale:#?}");
    }
}

#[test]
fn a_report_comes_back_as_it_was() {
    let report = full();
    assert_eq!(report.schema, 1);
    // As it was written: with its figures rounded.
    let json = report.to_json();
    assert_eq!(Report::from_json(&json).unwrap().to_json(), json);
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
