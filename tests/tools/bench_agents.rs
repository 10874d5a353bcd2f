//! Goal: agents measure together as one generator would, and a result without one of them is invalid. Method: two
//! agents of the built binary on loopback against a server, one that is killed, and clients that are no coordinators.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, printed_by, run};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A running agent.
struct Agent {
    child: Child,
    address: String,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _collected = self.child.wait();
    }
}

fn agent(words: &[&str]) -> Agent {
    let mut command = Command::new(PROGRAM);
    command.args(["bench", "agent", "--listen=127.0.0.1:0"]).args(words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    // Its later output is read, so that it never waits for that.
    std::thread::spawn(move || printed.read_to_end(&mut Vec::new()));
    let address = line.trim().strip_prefix("waits for coordinators at ").unwrap().to_owned();
    Agent { child, address }
}

/// `velodrome bench` over these agents.
fn command(agents: &[&Agent], words: &str) -> Command {
    let addresses: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    let mut command = Command::new(PROGRAM);
    command.arg("bench").args(words.split_whitespace());
    command.arg(format!("--agents={}", addresses.join(","))).args(["-t=1", "--json"]);
    command
}

fn report_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn site() -> Server {
    let config = "[[channel]]\npattern = \"news\"\nhistory = 1000\n";
    Plan::new().file("a.txt", "hello").config(config).start()
}

/// The number of an HDR blob's recorded times, by the tool of the reports: two reports are merged as one.
fn has_blob(latency: &Value) -> bool {
    let text = latency["hdr_v2"].as_str().unwrap();
    STANDARD.decode(text).is_ok_and(|blob| blob.starts_with(&[0x1c, 0x84, 0x93, 0x14]))
}

#[test]
fn requests_of_all_agents_are_one_result() {
    let (server, first, second) = (site(), agent(&[]), agent(&[]));
    let words = format!("http {}/a.txt -c 5 -n 301 -d 20s --warmup 0s --runs 2", server.address());
    let report = report_of(&run(&mut command(&[&first, &second], &words)));
    assert_eq!(report["plan"]["connections"], 5, "{report}");
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{report}");
    for one in runs {
        let answered = &one["requests"]["answered"];
        assert_eq!((answered, &one["service"]["count"]), (&301.into(), &301.into()), "{report}");
        assert_eq!(one["connections"]["open"], 5, "{report}");
        let service = &one["service"];
        let of = |name: &str| service[name].as_u64().unwrap();
        assert!(of("min_ns") <= of("p50_ns") && of("p99_ns") <= of("max_ns") && has_blob(service));
    }
    let agents = report["agents"].as_array().unwrap();
    let done: Vec<u64> = agents.iter().map(|agent| agent["done"].as_u64().unwrap()).collect();
    assert_eq!(done, [302, 300], "{report}");
    // Both read the same clock.
    for agent in agents {
        let offset_ns = agent["clock_offset_ns"].as_i64().unwrap().unsigned_abs();
        assert!(offset_ns <= agent["clock_error_ns"].as_u64().unwrap(), "{report}");
    }
}

#[test]
fn subscribers_of_all_agents_are_checked_together() {
    let (server, first, second) = (site(), agent(&[]), agent(&[]));
    let words = format!("channel {}/channels/news -c 9 -n 31 --rate 200", server.address());
    let report = report_of(&run(&mut command(&[&first, &second], &words)));
    assert_eq!((&report["published"], &report["received"]), (&31.into(), &279.into()), "{report}");
    let check = &report["check"];
    for name in ["gaps", "doubles", "late", "unordered"] {
        assert_eq!(check[name], 0, "{report}");
    }
    assert_eq!((&report["fewest"], &report["most"]), (&31.into(), &31.into()), "{report}");
    assert_eq!(report["agents"].as_array().unwrap().len(), 2, "{report}");
}

#[test]
fn a_result_without_an_agent_is_invalid() {
    let (server, first, second) = (site(), agent(&[]), agent(&[]));
    let words = format!("http {}/a.txt -c 4 --rate 100 -d 3s --warmup 0s", server.address());
    let mut command = command(&[&first, &second], &words);
    let measuring = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The connections of both.
    until("connections", || (server.count("/connections") >= 4).then_some(()));
    drop(second);
    let output = measuring.wait_with_output().unwrap();
    let report = report_of(&output);
    assert_eq!((output.status.code(), &report["verdict"]["state"]), (Some(3), &"invalid".into()));
    let reasons = report["verdict"]["reasons"].as_array().unwrap();
    let lost = reasons.iter().find(|reason| reason["code"] == "agent_lost").unwrap();
    assert!(lost["text"].as_str().unwrap().contains("was lost"), "{lost}");
    assert_eq!(report["agents"][1]["state"], "lost", "{report}");
}

fn key_file(server: &Server, name: &str, key: &str) -> String {
    server.directory().write(name, key);
    server.directory().join(name).display().to_string()
}

#[test]
fn an_agent_serves_only_coordinators_with_its_key() {
    let server = site();
    let (right, wrong) = ("k".repeat(40), "x".repeat(40));
    let right = key_file(&server, "right.key", &format!("{right}\n"));
    let wrong = key_file(&server, "wrong.key", &wrong);
    let short = key_file(&server, "short.key", "secret");
    let agent = agent(&["--key-file", &right]);
    let words = |key: &str| {
        format!("http {}/a.txt -c 2 -n 20 --warmup 0s --key-file {key}", server.address())
    };
    for (words, expected) in [
        (words(&wrong), "it does not have the same key"),
        (words(&short), "6 bytes are too few for a key"),
        (format!("http {}/a.txt -c 2 -n 20", server.address()), "it does not have the same key"),
    ] {
        let output = run(&mut command(&[&agent], &words));
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(errors_of(&output).contains(expected), "{words}: {}", errors_of(&output));
    }
    // A client that is no coordinator, and one that names a length of four gigabytes.
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 200], &[]] {
        let mut stream = TcpStream::connect(&agent.address).unwrap();
        // The agent may end the connection at any of these.
        let _sent = stream.write_all(bytes);
        let _ended = stream.shutdown(std::net::Shutdown::Write);
        let _read = stream.read_to_end(&mut Vec::new());
    }
    let report = report_of(&run(&mut command(&[&agent], &words(&right))));
    assert_eq!(report["runs"][0]["requests"]["answered"], 20, "{report}");
}

#[test]
fn an_agent_beyond_this_host_needs_a_key_and_consent() {
    let server = site();
    let key = key_file(&server, "a.key", &"k".repeat(40));
    let with_key = format!("--key-file={key}");
    for (words, expected) in [
        (vec!["--listen=0.0.0.0:0"], "can be reached from other hosts: give a --key-file"),
        (vec!["--listen=0.0.0.0:0", "--i-own-this-host"], "give a --key-file"),
        (vec!["--listen=0.0.0.0:0", &with_key], "confirm that with --i-own-this-host"),
        (vec!["--listen=x"], "write HOST:PORT"),
    ] {
        let output = run(Command::new(PROGRAM).args(["bench", "agent"]).args(&words));
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(errors_of(&output).contains(expected), "{words:?}: {}", errors_of(&output));
    }
}

#[test]
fn tasks_that_an_agent_cannot_do_are_failures_with_their_reason() {
    let (server, first, second) = (site(), agent(&[]), agent(&[]));
    server.directory().write("body.txt", "hello");
    let body = server.directory().join("body.txt");
    assert!(Path::new(&body).exists());
    let url = format!("{}/a.txt", server.address());
    for (words, expected) in [
        (
            format!("http {url} --body-file {}", body.display()),
            "--body-file: an agent reads no file",
        ),
        (format!("http {url} -c 1"), "1 connections are too few for 2 agents"),
        (format!("http {url} -c 8 -n 1"), "-n 1 is too few for 2 agents"),
    ] {
        let output = run(&mut command(&[&first, &second], &words));
        assert_eq!(output.status.code(), Some(1), "{words}: {}", printed_by(&output));
        assert!(errors_of(&output).contains(expected), "{words}: {}", errors_of(&output));
    }
}
