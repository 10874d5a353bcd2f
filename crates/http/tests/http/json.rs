//! Replies in JSON: the head is written before the length of the body is known.

use http::{Function, Http, HttpSettings, Reply, Request};
use serde::{Serialize, Serializer, ser};
use world::Stage;

/// Fails after writing a part of its text.
struct Failing;

impl Serialize for Failing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use ser::SerializeSeq;
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element("begun")?;
        Err(ser::Error::custom("it fails"))
    }
}

/// `/N` answers with a text of this many bytes, in quotes.
fn answer(request: &Request<'_>, reply: &mut Reply<'_>) {
    match request.path().trim_start_matches('/').parse::<usize>() {
        Ok(length) => reply.json("x".repeat(length - 2).as_str()),
        Err(_) => reply.json(&Failing),
    }
}

type Handler = fn(&Request<'_>, &mut Reply<'_>);

fn stage() -> Stage<Http<Function<Handler>>> {
    let answer: Handler = answer;
    Stage::new(1, move || Http::new(Function(answer), HttpSettings::default().into(), None))
}

fn request(method: &str, path: &str, more: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n")
}

/// Checks one answer and returns what follows it.
fn after_answer(text: &str, length: usize) -> &str {
    let (head, rest) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.ends_with(&format!("\r\nContent-Length: {length}")), "{length}: {head}");
    let (body, rest) = rest.split_at(length);
    assert_eq!(body, format!("\"{}\"", "x".repeat(length - 2)));
    rest
}

#[test]
fn the_length_is_right_whatever_the_one_before_was() {
    let lengths = [27, 9, 10, 99, 100, 99, 2, 12_345, 2, 1_000, 999];
    let mut stage = stage();
    let client = stage.connect();
    for length in lengths {
        let text = stage.exchange(client, &request("GET", &format!("/{length}"), ""));
        assert_eq!(after_answer(&text, length), "");
    }
    let all: String =
        lengths.iter().map(|length| request("GET", &format!("/{length}"), "")).collect();
    let text = stage.exchange(client, &all);
    let rest = lengths.iter().fold(text.as_str(), |rest, length| after_answer(rest, *length));
    assert_eq!(rest, "", "pipelined, each answer stands behind the other");
}

#[test]
fn head_has_the_length_and_no_body() {
    let mut stage = stage();
    let client = stage.connect();
    for length in [27, 5, 500] {
        let text = stage.exchange(client, &request("HEAD", &format!("/{length}"), ""));
        assert!(text.ends_with(&format!("\r\nContent-Length: {length}\r\n\r\n")), "{text}");
    }
}

#[test]
fn the_last_answer_of_a_connection_says_so() {
    let mut stage = stage();
    let client = stage.connect();
    let text = stage.exchange(client, &request("GET", "/300", "Connection: close\r\n"));
    assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
    assert_eq!(after_answer(&text, 300), "");
}

#[test]
fn failed_serialisation_leaves_no_output() {
    let mut stage = stage();
    let client = stage.connect();
    let pair = request("GET", "/27", "") + &request("GET", "/fails", "");
    let text = stage.exchange(client, &pair);
    let rest = after_answer(&text, 27);
    assert!(rest.starts_with("HTTP/1.1 500 "), "{rest}");
    assert!(!rest.contains("begun"), "{rest}");
    assert_eq!(rest.matches("HTTP/1.1").count(), 1, "{rest}");
    assert_eq!(after_answer(&stage.exchange(client, &request("GET", "/27", "")), 27), "");
}
