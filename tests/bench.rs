//! Goal: `velodrome bench` says what is true of a server and ends with the status that says the same. Method: the built
//! binary against a server that is there, against one that is not HTTP, and with wrong words.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};
use std::thread;

use server::{PROGRAM, Plan, errors_of, printed_by, run};

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
}

#[test]
fn a_server_that_breaks_a_rule_is_told_so() {
    // It says yes to everything.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Whatever was sent is answered alike, and who went away is not missed.
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
    assert!(errors_of(&output).contains("nothing was tried"), "{}", errors_of(&output));
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
