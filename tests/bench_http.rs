//! Goal: `velodrome bench http` ends with the status that says what came of them, whatever they meet. Method:
//! the built binary against servers of every kind, none among them, and wrong words.
#![expect(clippy::disallowed_types, reason = "a test holds sockets of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;
use server::patience::until;
use server::{PROGRAM, Plan, errors_of, printed_by, run};

/// `velodrome bench` with these words, separated by blanks.
fn bench(words: &str) -> Output {
    run(Command::new(PROGRAM).arg("bench").args(words.split(' ')))
}

/// The JSON it printed, and its exit status.
fn measured(words: &str) -> (Value, Option<i32>) {
    let output = bench(&format!("{words} --json"));
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|error| panic!("{error}: {output:?}")), output.status.code())
}

/// The status that belongs to the verdict of a report.
fn status_of(report: &Value) -> Option<i32> {
    Some(if report["verdict"]["state"] == "valid" { 0 } else { 3 })
}

/// A server that answers whatever it is sent with these bytes, and how often it did.
fn answering(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answered = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&answered);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, counter) = (stream.unwrap(), Arc::clone(&counter));
            thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                    if stream.write_all(answer).is_err() {
                        return;
                    }
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    (address, answered)
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_right_server_is_measured() {
    let server = Plan::new().file("a.txt", "hello").start();
    let address = server.address();
    let words = format!("http {address}/a.txt -c 4 -t 1 -d 300ms --warmup 0s --expect-body hello");
    let (report, status) = measured(&words);
    // A loaded host makes a right measurement an invalid one.
    assert_eq!(status, status_of(&report), "{report}");
    let requests = &report["runs"][0]["requests"];
    assert!(requests["answered"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(requests["failed"], 0, "{report}");
    assert_eq!(report["ended"], "complete");
    let text = bench(&words);
    let printed = printed_by(&text);
    assert!(printed.contains("requests/s") && printed.contains("VALID"), "{printed}");
}

#[test]
fn nothing_answered_is_no_result() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, kind) in [(nobody, "connect"), (answering(b"garbage").0, "garbage")] {
        let (report, status) = measured(&format!("http {address} -c 2 -t 1 -d 200ms --warmup 0s"));
        assert_eq!(status, Some(3), "{report}");
        let requests = &report["runs"][0]["requests"];
        assert!(requests["failed"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(requests["failed"], requests["failed_by"][kind], "{report}");
        assert_eq!(report["verdict"]["reasons"][0]["code"], "nothing_answered");
    }
}

#[test]
fn what_cannot_be_asked_is_said_before_the_run() {
    for (words, status, told) in [
        ("http http://no-such-name.invalid/", 1, "`no-such-name.invalid` cannot be resolved"),
        ("http unix:/no/such.sock", 1, "`/no/such.sock` cannot be asked"),
        ("http https://127.0.0.1/", 2, "https is not spoken here"),
        ("http 8.8.8.8", 2, "--i-own-this-host"),
        ("http 127.0.0.1 -c 0", 2, "0"),
        ("http", 2, "<URL>"),
    ] {
        let output = bench(words);
        assert_eq!(output.status.code(), Some(status), "{words}: {output:?}");
        assert!(errors_of(&output).contains(told), "{words}: {}", errors_of(&output));
        assert!(output.stdout.is_empty(), "{words}: {}", printed_by(&output));
    }
}

#[test]
fn an_interrupted_run_reports_what_was_measured() {
    for signal in ["INT", "TERM"] {
        let (address, answered) = answering(ANSWER);
        let mut command = Command::new(PROGRAM);
        let address = address.to_string();
        command.args(["bench", "http", &address, "-c", "2", "-t", "1", "-d", "1h"]);
        command.args(["--warmup", "0s", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("an answer", || (answered.load(Ordering::Relaxed) > 100).then_some(()));
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        until("the end of the run", || child.try_wait().unwrap());
        let output = child.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["ended"], "interrupted", "{report}");
        assert_eq!(report["verdict"]["notes"][0]["code"], "interrupted", "{report}");
        assert!(report["runs"][0]["requests"]["answered"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(output.status.code(), status_of(&report), "{report}");
    }
}
