//! The meaning of a request for its connection: persistence, expectations, upgrades.

use wire::http::head::Framing;
use wire::http::refusal::Reason;

use crate::requirements::verdict::{refused_field, with_fields};

#[test]
fn rfc9112_9_3_persistence() {
    let persistent = |line: &str, fields: &str, expected: bool| {
        with_fields(line, fields, |request| {
            assert_eq!(request.persistent, expected, "{line} {fields}");
        });
    };
    persistent("GET / HTTP/1.1", "", true);
    persistent("GET / HTTP/1.1", "Connection: close\r\n", false);
    persistent("GET / HTTP/1.1", "connection: x, CLOSE\r\n", false);
    persistent("GET / HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", false);
    persistent("GET / HTTP/1.1", "Connection: closed, unclose, \"close\"\r\n", true);
    persistent("GET / HTTP/1.2", "", true);
    persistent("GET / HTTP/1.0", "", false);
    persistent("GET / HTTP/1.0", "Connection: Keep-Alive\r\n", true);
    persistent("GET / HTTP/1.0", "Connection: keep-alive,close\r\n", false);
}

#[test]
fn rfc9110_9_3_1_a_body_of_get_is_the_last_thing_on_a_connection() {
    for line in ["GET / HTTP/1.1", "HEAD / HTTP/1.1"] {
        with_fields(line, "Content-Length: 5\r\n", |request| {
            assert_eq!(request.framing, Framing::Length(5));
            assert!(!request.persistent);
        });
        with_fields(line, "Transfer-Encoding: chunked\r\n", |request| assert!(!request.persistent));
        with_fields(line, "Content-Length: 0\r\n", |request| assert!(request.persistent));
    }
}

#[test]
fn rfc9110_10_1_1_expect() {
    let expects = |line: &str, fields: &str, expected: bool| {
        with_fields(line, fields, |request| {
            assert_eq!(request.expects_continue, expected, "{fields}")
        });
    };
    expects("POST / HTTP/1.1", "Expect: 100-Continue\r\nContent-Length: 5\r\n", true);
    expects("POST / HTTP/1.1", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", true);
    expects("POST / HTTP/1.1", "Expect: 100-continue\r\n", false);
    expects("POST / HTTP/1.0", "Expect: 100-continue\r\nContent-Length: 5\r\n", false);
    expects("POST / HTTP/1.1", "Content-Length: 5\r\n", false);
    for value in ["", "200-ok", "100-continue, x", "100-continue;q"] {
        refused_field(&format!("Expect: {value}"), Reason::ExpectationUnknown);
    }
    assert_eq!(Reason::ExpectationUnknown.status().code(), 417);
}

#[test]
fn rfc9110_7_8_upgrade() {
    let upgrade = |line: &str, fields: &str, expected: Option<&str>| {
        with_fields(line, fields, |request| {
            assert_eq!(request.upgrade, expected.map(str::as_bytes), "{fields}");
        });
    };
    upgrade("GET / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n", Some("websocket"));
    upgrade(
        "GET / HTTP/1.1",
        "Upgrade: websocket\r\nConnection: keep-alive, upgrade\r\n",
        Some("websocket"),
    );
    upgrade("GET / HTTP/1.1", "Upgrade: websocket\r\n", None);
    upgrade("GET / HTTP/1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n", None);
    let with_body = "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n";
    upgrade("POST / HTTP/1.1", with_body, None);
}
