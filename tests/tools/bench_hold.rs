//! Goal: `velodrome bench hold` opens hundreds of connections, keeps them in use, and reports their cost. Method: the
//! built binary against our server and against a port at which nothing listens.

use std::process::Command;

use crate::server::{PROGRAM, Plan, errors_of, free_address, printed_by, run};
use serde_json::Value;

/// Runs of which one must be undisturbed.
const TRIES: usize = 10;

/// Its JSON output and exit status.
fn hold(words: &str) -> (Value, Option<i32>) {
    let output =
        run(Command::new(PROGRAM).args(["bench", "hold", "--json"]).args(words.split(' ')));
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|error| panic!("{error}: {output:?}")), output.status.code())
}

#[test]
fn hundreds_of_connections_are_held_and_asked() {
    let server = Plan::new().file("a.txt", "hello").start();
    let words = format!("{}/a.txt -c 400 -t 2 -d 1s --rate 400", server.address());
    let answered = |report: &Value| report["runs"][0]["requests"]["answered"].as_u64().unwrap();
    // A host that gives the core to others makes a run shorter: one must be undisturbed.
    let (mut report, mut status) = hold(&words);
    for _ in 1..TRIES {
        if answered(&report) > 300 {
            break;
        }
        (report, status) = hold(&words);
    }
    let (held, requests) = (&report["hold"], &report["runs"][0]["requests"]);
    assert_eq!((&held["open"], &held["dead"]), (&400.into(), &0.into()), "{report}");
    assert_eq!(requests["failed"], 0, "{report}");
    assert!(answered(&report) > 300, "{report}");
    assert!(held["opened_per_s"].as_f64().unwrap() > 0.0, "{report}");
    assert!(held["server_bytes_per_connection"].as_f64().is_some(), "{report}");
    // On a loaded host a correct measurement can be invalid.
    let is_valid = report["verdict"]["state"] == "valid";
    assert_eq!(status, Some(if is_valid { 0 } else { 3 }), "{report}");
}

#[test]
fn the_text_tells_what_connections_cost() {
    let server = Plan::new().start();
    let address = server.address().to_string();
    let words = ["bench", "hold", &address, "-c", "200", "-d", "300ms"];
    let output = run(Command::new(PROGRAM).args(words));
    let printed = printed_by(&output);
    for line in
        ["opening     200 connections in ", "held        200 connections, 0 dead", "memory  "]
    {
        assert!(printed.contains(line), "no `{line}` in {printed}{}", errors_of(&output));
    }
}

#[test]
fn without_a_server_nothing_is_held() {
    let nobody = free_address();
    let (report, status) = hold(&format!("{nobody} -c 5 -t 1 -d 1h"));
    assert_eq!((&report["hold"]["open"], status), (&0.into(), Some(3)), "{report}");
}
