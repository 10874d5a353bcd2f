//! Servers without a correct answer: each kind of failure, and no other.

use std::net::SocketAddr;
use std::time::Duration;

use bench::plan::{AnswerCheck, BodyCheck, PlannedRequest, RequestBody};
use bench::tally::FailureKind;

use crate::faults::generator::{assert_answered, assert_only, impatient_plan, plan, plan_of, run};
use crate::faults::server::{answering, answering_once, never_ending, nobody, serve};

fn fails(address: SocketAddr, kind: FailureKind, what: &str) {
    let plan = if kind == FailureKind::Timeout { impatient_plan(address) } else { plan(address) };
    assert_only(&run(&plan), kind, what);
}

#[test]
fn bytes_that_are_no_answer_count_as_garbage() {
    for answer in [
        &b"SSH-2.0-OpenSSH_9.6\r\n"[..],
        b"\0",
        b"HTTP/1.1 2 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        let what = String::from_utf8_lossy(answer);
        fails(answering(answer), FailureKind::Garbage, &what);
    }
}

#[test]
fn heads_without_an_end_are_garbage() {
    let (status, line) = (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n");
    fails(never_ending(status, line), FailureKind::Garbage, "fields");
    fails(
        never_ending(b"HTTP/1.1 200 OK\r\nX-More: ", b"and more"),
        FailureKind::Garbage,
        "a line",
    );
    fails(never_ending(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), FailureKind::Garbage, "interim");
}

#[test]
fn bodies_without_an_end_are_timeouts() {
    let until_close = never_ending(b"HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 1000]);
    fails(until_close, FailureKind::Timeout, "until close");
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    fails(never_ending(head, b"3\r\nabc\r\n"), FailureKind::Timeout, "chunks");
}

#[test]
fn silence_is_a_timeout() {
    fails(serve(|conversation| conversation.outlasts()), FailureKind::Timeout, "from the start");
    let half = serve(|conversation| {
        if conversation.hears() && conversation.says(b"HTTP/1.1 200 OK\r\nContent-Le") {
            conversation.outlasts();
        }
    });
    fails(half, FailureKind::Timeout, "in the middle");
}

#[test]
fn an_early_end_is_a_reset() {
    fails(serve(|_| {}), FailureKind::Reset, "at once");
    fails(answering_once(b""), FailureKind::Reset, "without an answer");
    fails(answering_once(b"HTTP/1.1 200 OK\r\nContent-"), FailureKind::Reset, "in the head");
    let body = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    fails(answering_once(body), FailureKind::Reset, "in the body");
    let chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    fails(answering_once(chunk), FailureKind::Reset, "before the last chunk");
}

#[test]
fn a_port_without_a_server_is_no_connection() {
    let run = run(&plan(nobody()));
    assert_only(&run, FailureKind::Connect, "nobody");
    assert_eq!(run.connections.opened, 0);
    // Connections before the measured part are refused, too.
    assert!(run.connections.refused >= run.requests.failed, "{:?}", run.connections);
    // Three connections, each tried at once and then every 50 ms for 320 ms: not as fast as they are refused.
    assert!(run.connections.refused <= 3 * 8, "{:?}", run.connections);
}

#[test]
fn a_server_that_closes_everything_is_not_asked_as_fast_as_it_closes() {
    let run = run(&plan(serve(|_| {})));
    assert!(run.connections.opened <= 3 * 8, "{:?}", run.connections);
}

#[test]
fn a_wrong_status_is_told_from_a_right_one() {
    let not_found = answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    fails(not_found, FailureKind::Status, "404");
    let mut expecting = plan(not_found);
    expecting.check.status = "404".parse().unwrap();
    assert_answered(&run(&expecting), "404 where it is right");
}

#[test]
fn bodies_are_held_against_what_they_should_be() {
    let whole = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let chunked = answering(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    );
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let hello = BodyCheck::sha256(hash).unwrap();
    let equal = |text: &str| BodyCheck::Equal(text.as_bytes().to_vec());
    for (address, framing) in [(whole, "whole"), (chunked, "chunked")] {
        let held = |length, body: &BodyCheck| {
            let mut plan = plan(address);
            plan.check = AnswerCheck { length, body: body.clone(), ..AnswerCheck::default() };
            run(&plan)
        };
        for (length, body) in
            [(Some(5), &BodyCheck::Any), (None, &equal("hello")), (Some(5), &hello)]
        {
            assert_answered(&held(length, body), &format!("{framing} {length:?} {body:?}"));
        }
        for (length, body) in [
            (Some(4), &BodyCheck::Any),
            (None, &equal("hellO")),
            (None, &equal("hello!")),
            (None, &BodyCheck::Sha256([0; 32])),
        ] {
            let what = format!("{framing} {length:?} {body:?}");
            assert_only(&held(length, body), FailureKind::Check, &what);
        }
    }
}

#[test]
fn a_server_that_takes_no_request_is_a_timeout() {
    let body = RequestBody::Bytes(vec![b'x'; 4_000_000]);
    let request = PlannedRequest { method: "POST".to_owned(), body, ..PlannedRequest::default() };
    let idle = serve(|conversation| {
        if conversation.hears() {
            // Nothing is read until the generator has given up, or ever.
            std::thread::park();
        }
    });
    let mut plan = plan_of(idle, &request);
    plan.connections = 1;
    plan.timeout = Duration::from_millis(100);
    assert_only(&run(&plan), FailureKind::Timeout, "an unread body");
}
