//! Goal: `velodrome bench http` exits with the right status in every situation. Method: the built binary against
//! servers of every kind, without a server, and with wrong arguments.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, errors_of, free_address, printed_by, run};
use serde_json::Value;

/// `velodrome bench` with these arguments, separated by spaces.
fn bench(words: &str) -> Output {
    run(Command::new(PROGRAM).arg("bench").args(words.split(' ')))
}

/// Its JSON output and exit status.
fn measured(words: &str) -> (Value, Option<i32>) {
    let output = bench(&format!("{words} --json"));
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|error| panic!("{error}: {output:?}")), output.status.code())
}

/// The exit status for the verdict of a report.
fn status_of(report: &Value) -> Option<i32> {
    Some(if report["verdict"]["state"] == "valid" { 0 } else { 3 })
}

/// A server that answers every request with these bytes, and the number of its answers.
fn answering(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicU64>) {
    serving(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
}

fn serving(listener: TcpListener, answer: &'static [u8]) -> (SocketAddr, Arc<AtomicU64>) {
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

/// A few requests of one thread, whatever time they take.
const FEW: &str = "-t 1 -n 40 -d 20s --timeout 20s --warmup 0s";

/// Time for two connections, of a server that never answers.
const SHORT: &str = "-t 1 -d 3s --warmup 0s";

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_right_server_is_measured() {
    let server = Plan::new().file("a.txt", "hello").start();
    let address = server.address();
    let words = format!("http {address}/a.txt -c 4 {FEW} --expect-body hello");
    let (report, status) = measured(&words);
    // On a loaded host a correct measurement can be invalid.
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
fn requests_over_http2_share_connections() {
    let listener = "[[listener]]\naddress = \"127.0.0.1:0\"\nh2c = true\n";
    let plan = Plan::new().file("a.txt", "hello").config(listener);
    let server = plan.listen_as_configured(1).start();
    let address = server.address();
    let load = "--h2 -m 20 -c 2 -t 1 -n 500 -d 60s --warmup 0s --expect-body hello";
    let (report, status) = measured(&format!("http {address}/a.txt?{{{{counter}}}} {load}"));
    assert_eq!(status, status_of(&report), "{report}");
    let (run, plan) = (&report["runs"][0], &report["plan"]);
    assert_eq!((&run["requests"]["asked"], &run["requests"]["failed"]), (&500.into(), &0.into()));
    assert_eq!(run["connections"]["opened"], 2, "{report}");
    assert_eq!((&plan["http2"], &plan["pipeline"]), (&true.into(), &20.into()));
    let wrong = bench(&format!("http {address} -m 20"));
    assert!(errors_of(&wrong).contains("--h2"), "{wrong:?}");
}

#[test]
fn a_server_without_http2_is_named() {
    let (address, _) = answering(ANSWER);
    let (report, status) = measured(&format!("http {address} --h2 -c 1 {FEW}"));
    assert_eq!(status, Some(3), "{report}");
    assert!(report["verdict"].to_string().contains("not HTTP/2"), "{report}");
}

#[test]
fn a_condition_that_is_met_is_exit_status_5() {
    let (address, _) = answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let words = format!("http {address} -c 2 {FEW} --expect-status 200,404");
    // On a loaded host a correct measurement can be invalid: then the status is 3, whatever the conditions.
    let expected = |report: &Value, met| if status_of(report) == Some(0) { met } else { 3 };
    for (condition, is_met) in [("rate<1", false), ("max>0ms", true), ("failed>0%", false)] {
        let (report, status) = measured(&format!("{words} --fail-if {condition}"));
        let result = &report["fail_if"][0];
        assert_eq!((&result["condition"], &result["met"]), (&condition.into(), &is_met.into()));
        assert_eq!(status, Some(expected(&report, if is_met { 5 } else { 0 })), "{report}");
    }
    let (report, _) = measured(&format!("http {address} -c 2 {FEW} --fail-if failed>1%"));
    assert_eq!(
        (&report["fail_if"][0]["measured"], &report["fail_if"][0]["met"]),
        (&1.0.into(), &true.into())
    );
}

#[test]
fn a_run_may_end_after_a_number_of_requests() {
    let server = Plan::new().file("a.txt", "a").start();
    let address = server.address();
    for words in [
        "-c 8 -t 2 -n 1001",
        "-c 8 -t 2 -n 1001 --rate 20k",
        "-c 3 -t 1 -n 2",
        "-c 4 -t 1 -n 40 --close",
    ] {
        let (report, _) = measured(&format!("http {address}/a.txt --warmup 0s -d 60s {words}"));
        let count: u64 =
            words.split("-n ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let requests = &report["runs"][0]["requests"];
        assert_eq!(
            (&requests["asked"], &requests["answered"]),
            (&count.into(), &count.into()),
            "{words}: {report}"
        );
        assert_eq!(requests["in_flight_end"], 0, "{words}");
        assert!(report["runs"][0]["wall_ns"].as_u64().unwrap() < 30_000_000_000, "{words}");
    }
}

#[test]
fn words_of_other_generators_are_understood() {
    let server = Plan::new().file("a.txt", "a").file("b.txt", "bb").start();
    let address = server.address();
    let directory = Directory::new();
    let file = |name: &str| directory.join(name).display().to_string();
    let (urls, hgrm, csv) = (file("urls"), file("times.hgrm"), file("series.csv"));
    std::fs::write(&urls, format!("\u{feff}# two\r\n{address}/a.txt\r\n\n {address}/b.txt\n"))
        .unwrap();
    let words = format!(
        "http --urls-file {urls} -c 2 -t 1 -d 1 --warmup 0.2 -X HEAD --hgrm {hgrm} --csv {csv}"
    );
    let (report, status) = measured(&words);
    assert_eq!(status, status_of(&report), "{report}");
    assert_eq!(report["plan"]["duration_ns"], 1_000_000_000_u64);
    assert_eq!(report["plan"]["targets"].as_array().unwrap().len(), 2);
    assert_eq!(report["plan"]["targets"][1]["method"], "HEAD");
    let times = std::fs::read_to_string(&hgrm).unwrap();
    let count = report["runs"][0]["response"]["count"].as_u64().unwrap();
    assert!(times.contains(&format!("Total count    = {count:12}]")), "{times}");
    let first = times.lines().nth(2).unwrap().split_whitespace().count();
    assert_eq!(first, 4, "{times}");
    let series = std::fs::read_to_string(&csv).unwrap();
    let answered: u64 = series
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(4).unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(answered, report["runs"][0]["requests"]["answered"]);
}

#[test]
fn nothing_answered_is_no_result() {
    let nobody = free_address();
    for (address, kind) in [(nobody, "connect"), (answering(b"garbage").0, "garbage")] {
        let (report, status) = measured(&format!("http {address} -c 2 {FEW}"));
        assert_eq!(status, Some(3), "{report}");
        let requests = &report["runs"][0]["requests"];
        assert!(requests["failed"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(requests["failed"], requests["failed_by"][kind], "{report}");
        assert_eq!(report["verdict"]["reasons"][0]["code"], "nothing_answered");
    }
}

#[test]
fn failed_requests_are_explained_with_mend() {
    let nobody = free_address();
    // The kernel accepts connections for it, and nothing reads them.
    let unread = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = unread.local_addr().unwrap();
    let not_found = answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").0;
    for (address, words, told) in [
        (nobody, FEW, "no connection could be opened; see that a server listens there"),
        (answering(b"garbage").0, FEW, "check that this is a plain HTTP port"),
        (not_found, FEW, "name the expected statuses with --expect-status"),
        (silent, SHORT, "0 failed, 2 had no answer at the end: see that the server answers"),
    ] {
        let output = bench(&format!("http {address} -c 2 {words}"));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let printed = printed_by(&output);
        assert!(printed.contains(told), "no `{told}` in {printed}");
    }
}

#[test]
fn ipv6_is_spoken() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        println!("SKIPPED ipv6_is_spoken: this host has no [::1]");
        return;
    };
    let (address, _) = serving(listener, ANSWER);
    let (report, status) = measured(&format!("http {address} -c 2 {FEW}"));
    assert_eq!(status, status_of(&report), "{report}");
    assert!(report["runs"][0]["requests"]["answered"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn output_that_nobody_takes_is_told_and_one_that_was_read_enough_is_not() {
    let (address, _) = answering(ANSWER);
    for verb in ["http --warmup=0s", "hold"] {
        for form in ["--json", "--timeout=5s"] {
            let start = |output: Stdio| {
                let mut command = Command::new(PROGRAM);
                let address = address.to_string();
                command.arg("bench").args(verb.split(' '));
                command.args([&address, "-c=2", "-t=1", "-d=100ms", form]);
                command.stdout(output).stderr(Stdio::piped()).spawn().unwrap()
            };
            let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = start(full.into()).wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{verb} {form}: {output:?}");
            let told = "velodrome: cannot print: No space left on device";
            assert!(errors_of(&output).starts_with(told), "{}", errors_of(&output));
            let mut child = start(Stdio::piped());
            drop(child.stdout.take());
            let output = child.wait_with_output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 3)), "{verb} {form}: {output:?}");
            assert_eq!(errors_of(&output), "", "{verb} {form}");
        }
    }
}

#[test]
fn unsupported_request_is_refused_before_run() {
    for (words, status, told) in [
        ("http http://no-such-name.invalid/", 1, "`no-such-name.invalid` cannot be resolved"),
        ("http unix:/no/such.sock", 1, "`/no/such.sock` cannot be asked"),
        ("http unix:/etc/passwd", 1, "`/etc/passwd` cannot be asked (it is not a socket)"),
        ("http 127.0.0.1 --server-pid 0", 1, "--server-pid 0: this process cannot be seen"),
        ("http 127.0.0.1 --body-file /no/such", 1, "--body-file /no/such: cannot be read"),
        ("http ", 2, "a URL is empty"),
        ("http ftp://127.0.0.1/", 2, "the scheme is neither http nor https"),
        ("http 127.0.0.1/{{counter", 2, "in the path: `{{counter` is not closed"),
        ("http 127.0.0.1 --rate -1", 2, "`-1` is not a number of requests per second"),
        ("http 127.0.0.1 --rate nan", 2, "`nan` is not a number of requests per second"),
        ("http 127.0.0.1 --pin=100000", 2, "CPU 100000 is not one this process may use"),
        ("http 127.0.0.1 -c 9000000 -t 1", 2, "9000000 connections do not fit: "),
        ("http 127.0.0.1 --html /", 2, "--html /: this is a directory"),
        ("hold ws://127.0.0.1/ -c 1", 2, "the scheme is neither http nor https"),
        ("knee ftp://127.0.0.1/ --slo p99=5ms", 2, "the scheme is neither http nor https"),
        ("compare ftp://127.0.0.1/ 127.0.0.1", 2, "the scheme is neither http nor https"),
        ("conformance 8.8.8.8", 2, "--i-own-this-host"),
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

/// Starts `velodrome bench` with these arguments and JSON, and sends it a signal when the server has had enough
/// requests.
fn interrupted(words: &str, signal: &str, asked: &AtomicU64, enough: u64) -> (Value, Option<i32>) {
    let mut command = Command::new(PROGRAM);
    command.arg("bench").args(words.split(' ')).arg("--json");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("an answer", || (asked.load(Ordering::Relaxed) >= enough).then_some(()));
    send(signal, &child);
    until("the end of the run", || child.try_wait().unwrap());
    let output = child.wait_with_output().unwrap();
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|error| panic!("{error}: {output:?}")), output.status.code())
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn an_interrupted_run_reports_what_was_measured() {
    for signal in ["INT", "TERM"] {
        let (address, answered) = answering(ANSWER);
        let words = format!("http {address} -c 2 -t 1 -d 1h --warmup 0s");
        let (report, status) = interrupted(&words, signal, &answered, 100);
        assert_eq!(report["ended"], "interrupted", "{report}");
        assert_eq!(report["verdict"]["notes"][0]["code"], "interrupted", "{report}");
        assert!(report["runs"][0]["requests"]["answered"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(status, status_of(&report), "{report}");
    }
}

#[test]
fn an_interrupted_warm_up_measured_nothing() {
    let (address, answered) = answering(ANSWER);
    let words = format!("http {address} -c 2 -t 1 -d 1s --warmup 1h");
    let (report, status) = interrupted(&words, "INT", &answered, 100);
    assert_eq!((&report["ended"], status), (&"interrupted".into(), Some(3)), "{report}");
    assert_eq!(report["verdict"]["reasons"][0]["text"], "no run was finished", "{report}");
}

#[test]
fn an_interrupted_opening_tells_how_far_it_came() {
    // The first connection is answered and then ends: the server knows once the client closes it. The others wait.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let closed = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&closed);
    thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        first
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        std::io::copy(&mut first, &mut std::io::sink()).unwrap();
        counter.fetch_add(1, Ordering::Relaxed);
        thread::park();
    });
    let words = format!("hold {address} -c 500 -t 1 -d 1h --timeout 1h");
    let (report, status) = interrupted(&words, "INT", &closed, 1);
    assert_eq!((&report["ended"], status), (&"interrupted".into(), Some(3)), "{report}");
    assert_eq!(
        (&report["hold"]["open"], &report["hold"]["dead"]),
        (&0.into(), &1.into()),
        "{report}"
    );
    assert_eq!(report["runs"][0]["connections"]["opened"], 1, "{report}");
}

#[test]
fn a_knee_of_nobody_is_no_result() {
    let nobody = free_address();
    let words = format!("knee {nobody} --slo p99=5ms -c 1 -t 1 -d 300ms --warmup 0s");
    let output = bench(&words);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let told = "INVALID: no request was answered at 1,000 requests/s";
    assert!(printed_by(&output).contains(told), "{}", printed_by(&output));
    let output = bench(&format!("conformance {nobody}"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(errors_of(&output).contains("cannot connect (Connection refused"), "{output:?}");
}
