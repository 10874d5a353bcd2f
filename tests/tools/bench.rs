//! Goal: `velodrome bench` reports the truth about a server and exits with the matching status. Method: the built
//! binary against a running server, against one that is not HTTP, and with wrong arguments.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, errors_of, printed_by, run};

fn conformance(address: SocketAddr, words: &[&str]) -> Output {
    let address = address.to_string();
    run(Command::new(PROGRAM).args(["bench", "conformance", &address]).args(words))
}

#[test]
fn conformance_of_a_right_server_is_success() {
    let server = Plan::new().file("a.txt", "x".repeat(2000)).start();
    let words = ["--offers=file=/a.txt", "--level=must", "--only=host", "--json"];
    let output = conformance(server.address(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
    let report: serde_json::Value = serde_json::from_str(&printed_by(&output)).unwrap();
    assert!(report["counts"]["passed"].as_u64().unwrap() > 5, "{report}");
    assert_eq!(report["counts"]["failed"], 0);
    for case in report["cases"].as_array().unwrap().iter().filter(|case| case["result"] == "passed")
    {
        let has = |key: &str, part: &str| case[key].as_str().unwrap().contains(part);
        assert!(
            has("section", "RFC 91") && has("sent", " ") && has("received", "HTTP/1.1 "),
            "{case}"
        );
    }
}

#[test]
fn exchanges_are_shown_to_who_asks_for_them() {
    let server = Plan::new().file("a.txt", "x".repeat(2000)).start();
    let words = ["--offers=file=/a.txt", "--level=must", "--only=rfc9112-3.2-host"];
    let brief = printed_by(&conformance(server.address(), &words));
    let full = printed_by(&conformance(server.address(), &[&words[..], &["--exchanges"]].concat()));
    assert!(
        brief.contains("RFC 9112 3.2\n  pass  must ") && !brief.contains("received"),
        "{brief}"
    );
    assert!(
        full.contains("    sent      GET ") && full.contains("    received  HTTP/1.1 "),
        "{full}"
    );
}

#[test]
fn a_server_that_breaks_a_rule_is_told_so() {
    // A server that accepts everything.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Every request gets the same answer; errors of clients that have closed are ignored.
            let _received = stream.read(&mut [0; 4096]);
            let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let words = ["--offers=file=/a.txt", "--level=must", "--only=host", "--timeout=300ms"];
    let output = conformance(address, &words);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors_of(&output).contains("requirements are not met"), "{}", errors_of(&output));
}

#[test]
fn nothing_tried_is_no_success() {
    let server = Plan::new().start();
    let output = conformance(server.address(), &["--only=host"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors_of(&output).contains("nothing was tested"), "{}", errors_of(&output));
}

#[test]
fn wrong_words_are_wrong_use() {
    let address = "127.0.0.1:1".parse().unwrap();
    for (words, told) in [
        (["--offers=x=1"], "--offers x=1: write WHAT=VALUE"),
        (["--level=x"], "--level x: there is no such level"),
    ] {
        let output = conformance(address, &words);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors_of(&output).contains(told), "{}", errors_of(&output));
    }
}

/// A result of five valid runs: a real one whose rate is replaced.
fn result(server: &crate::server::Server) -> serde_json::Value {
    let url = format!("http://{}/a.txt", server.address());
    let words = ["bench", "http", &url, "--json", "-n=40", "-d=20s", "--warmup=0s", "-c=2", "-t=1"];
    let output = run(Command::new(PROGRAM).args(words));
    let mut report: serde_json::Value = serde_json::from_str(&printed_by(&output)).unwrap();
    report["verdict"] = serde_json::json!({ "state": "valid", "reasons": [], "notes": [] });
    let runs = (0..5).map(|number| {
        let mut run = report["runs"][0].clone();
        run["rate_per_s"] = (1000.0 + f64::from(number)).into();
        run
    });
    report["runs"] = runs.collect();
    report
}

fn compared(words: &[&str]) -> (Option<i32>, String) {
    let output = run(Command::new(PROGRAM).args(["bench", "compare"]).args(words));
    let text = if output.stdout.is_empty() { errors_of(&output) } else { printed_by(&output) };
    (output.status.code(), text)
}

#[test]
fn results_are_compared_and_the_status_says_what_came_of_it() {
    let server = Plan::new().file("a.txt", "x").start();
    let folder = server.directory();
    let kept = |name: &str, report: &serde_json::Value| {
        folder.write(name, report.to_string());
        folder.join(name).to_str().unwrap().to_owned()
    };
    let before = result(&server);
    let mut doubtful = before.clone();
    doubtful["verdict"]["state"] = "invalid".into();
    let mut short = before.clone();
    short["runs"].as_array_mut().unwrap().truncate(3);
    let mut slower = before.clone();
    for run in slower["runs"].as_array_mut().unwrap() {
        run["rate_per_s"] = (run["rate_per_s"].as_f64().unwrap() / 2.0).into();
    }
    let first = kept("before.json", &before);
    for (name, report, status, told) in [
        ("same.json", &before, 0, "NO SIGNIFICANT DIFFERENCE"),
        ("slower.json", &slower, 4, "SLOWER: B is significantly worse"),
        ("doubtful.json", &doubtful, 3, "INVALID: do not trust"),
        ("short.json", &short, 0, "5 and 3 runs are too few"),
    ] {
        let second = kept(name, report);
        let (code, text) = compared(&[&first, &second]);
        assert_eq!(code, Some(status), "{name}: {text}");
        assert!(text.contains(told), "{name}: {text}");
        // A command that prints a result is equivalent to the file.
        let (one, other) = (format!("cat {first}"), format!("cat {second}"));
        let (code, text) = compared(&[&one, &other, "--rounds=1", "--aa", "--json"]);
        assert_eq!(code, Some(status), "{name}: {text}");
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["first"]["runs"], 5);
        let noise = told["figures"][0]["noise"].as_f64().unwrap();
        assert!((1.0..1.005).contains(&noise), "{noise}");
    }
}

#[test]
fn servers_are_compared_in_turn() {
    let server = Plan::new().file("a.txt", "x").start();
    let url = format!("http://{}/a.txt", server.address());
    let words = ["--rounds=2", "-d=1s", "--warmup=0s", "-c=2", "-t=1", "--json"];
    let (code, text) = compared(&[&[url.as_str(), &url], words.as_slice()].concat());
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {text}");
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&told["first"]["runs"], &told["second"]["runs"]), (&2.into(), &2.into()));
    assert_eq!(told["overall"], "too_few_runs");
    assert!(told["first"]["answered"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn incomparable_reports_are_refused() {
    for (words, status, told) in [
        (&["no-such.json", "no-such.json"][..], 1, "no-such.json: cannot be read"),
        (&["no-such.json", "127.0.0.1:1"], 2, "a file is compared with a file"),
        (&["a.json", "b.json", "--aa"], 2, "--aa: files are not run again"),
        (&["127.0.0.1:1", "127.0.0.1:1", "--runs=2"], 2, "say --rounds"),
        (&["127.0.0.1:1", "127.0.0.1:1", "--rounds=0"], 2, "choose from 1 to"),
        (&["exit 7", "exit 7"], 1, "`exit 7`: failed with"),
        (&["echo x", "echo x"], 1, "no report of `velodrome bench`"),
    ] {
        let (code, text) = compared(words);
        assert_eq!(code, Some(status), "{words:?}: {text}");
        assert!(text.contains(told), "{words:?}: {text}");
    }
}

#[test]
fn a_knee_is_searched_step_by_step() {
    let server = Plan::new().file("a.txt", "x").start();
    let url = format!("http://{}/a.txt", server.address());
    let words =
        ["bench", "knee", &url, "--rate=100:200", "-d=300ms", "--warmup=0s", "-c=2", "-t=1"];
    // No answer takes less than a microsecond: the objective is missed from the start, unless the generator was too
    // slow to say so.
    let output = run(Command::new(PROGRAM).args(words).args(["--slo=max=1us", "--json"]));
    let told: serde_json::Value = serde_json::from_str(&printed_by(&output)).unwrap();
    let expected = if told["found"]["end"] == "broken_from_start" { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(expected), "{told}");
    assert_eq!(told["found"]["last_good_per_s"], serde_json::Value::Null, "{told}");
    assert!(told["steps"].as_array().unwrap().len() >= 2, "{told}");
    let page = server.directory().join("knee.html");
    let html = format!("--html={}", page.display());
    let output = run(Command::new(PROGRAM).args(words).args(["--slo=p50=10s", &html]));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("p50 at most 10.0 s") && page.contains("last good rate"), "{page}");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", errors_of(&output));
    assert!(printed_by(&output).contains("p50 of response time"), "{}", printed_by(&output));
}

/// Starts a verb that is to be interrupted.
fn begun(words: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    command.arg("bench").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Interrupts it as a service manager does: only its process gets the signal.
fn interrupted(mut child: Child) -> (Option<i32>, serde_json::Value) {
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    until("the end of the measurement", || child.try_wait().unwrap());
    let output = child.wait_with_output().unwrap();
    let told = serde_json::from_slice(&output.stdout);
    let told = told.unwrap_or_else(|error| panic!("{error}: {}", errors_of(&output)));
    (output.status.code(), told)
}

#[test]
fn an_interrupted_comparison_tells_the_rounds_that_were_whole() {
    let server = Plan::new().file("a.txt", "x").start();
    let folder = server.directory();
    folder.write("result.json", result(&server).to_string());
    let result = folder.join("result.json").display().to_string();
    // B does not end in its second round, and tells when it has begun.
    let (first, second) = (folder.join("first"), folder.join("second"));
    let slow = format!(
        "test -e {0} && echo $$ > {1} && exec sleep 3600; touch {0}; cat {result}",
        first.display(),
        second.display()
    );
    let child = begun(&["compare", &format!("cat {result}"), &slow, "--json"]);
    let number = || Some(std::fs::read_to_string(&second).ok()?.trim().to_owned());
    let sleeper = until("the second round", || number().filter(|number| !number.is_empty()));
    let (code, told) = interrupted(child);
    assert_eq!((code, &told["ended"]), (Some(0), &"interrupted".into()), "{told}");
    assert_eq!((&told["first"]["runs"], &told["second"]["runs"]), (&5.into(), &5.into()));
    assert!(!std::path::Path::new(&format!("/proc/{sleeper}")).exists(), "it was left behind");
}

#[test]
fn a_comparison_that_is_interrupted_in_its_first_round_concludes_nothing() {
    let server = Plan::new().file("a.txt", "x").start();
    let url = format!("http://{}/a.txt", server.address());
    let words = ["compare", &url, &url, "-d=1h", "--warmup=0s", "-c=2", "-t=1", "--json", "--aa"];
    let child = begun(&words);
    until("the generator", || (server.count("/http/by_class/2xx") > 0).then_some(()));
    let (code, told) = interrupted(child);
    assert_eq!((code, &told["ended"]), (Some(3), &"interrupted".into()), "{told}");
    assert_eq!((&told["state"], &told["second"]["runs"]), (&"invalid".into(), &0.into()));
    assert_eq!(told["figures"][0]["second"], serde_json::Value::Null, "{told}");
}

#[test]
fn an_interrupted_search_tells_the_steps_until_then() {
    let server = Plan::new().file("a.txt", "x").start();
    let url = format!("http://{}/a.txt", server.address());
    let words = ["knee", &url, "--slo=p50=10s", "-d=1h", "--warmup=0s", "-c=2", "-t=1", "--json"];
    let child = begun(&words);
    until("the generator", || (server.count("/http/by_class/2xx") > 0).then_some(()));
    let (code, told) = interrupted(child);
    assert_eq!((code, &told["found"]["end"]), (Some(3), &"stopped".into()), "{told}");
    assert_eq!(told["steps"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["steps"][0]["outcome"], "stopped", "{told}");
}

#[test]
fn invalid_objective_is_error() {
    for (word, told) in [
        ("--slo=p99", "write p99=5ms"),
        ("--slo=p98=5ms", "`p98` is not a percentile"),
        ("--slo=p99=soon", "--slo p99=soon"),
    ] {
        let output = run(Command::new(PROGRAM).args(["bench", "knee", "127.0.0.1:1", word]));
        assert_eq!(output.status.code(), Some(2));
        assert!(errors_of(&output).contains(told), "{}", errors_of(&output));
    }
}
