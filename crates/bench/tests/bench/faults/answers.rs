//! Servers with unusual but correct answers, and servers that end connections between answers.

use std::num::NonZeroU64;

use bench::plan::{BodyCheck, Lifetime, PlannedRequest};
use bench::tally::FailureKind;

use crate::faults::generator::{assert_answered, plan, plan_of, run};
use crate::faults::server::{answering, answering_once, serve};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn interim_answers_are_none() {
    let early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let mut plan = plan(answering(early));
    plan.check.length = Some(2);
    assert_answered(&run(&plan), "interim answers");
}

#[test]
fn an_answer_may_last_until_the_connection_ends() {
    let mut plan = plan(answering_once(b"HTTP/1.1 200 OK\r\n\r\nhello"));
    plan.check.body = BodyCheck::Equal(b"hello".to_vec());
    let run = run(&plan);
    assert_answered(&run, "until close");
    assert!(run.connections.opened >= run.requests.answered, "{:?}", run.connections);
}

#[test]
fn an_answer_to_head_has_no_body() {
    let request = PlannedRequest { method: "HEAD".to_owned(), ..PlannedRequest::default() };
    let mut plan = plan_of(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), &request);
    plan.check.length = Some(0);
    let run = run(&plan);
    assert_answered(&run, "HEAD");
    assert_eq!(run.connections.closed, 0);
}

#[test]
fn an_answer_in_single_bytes_is_one() {
    let drop_by_drop = serve(|conversation| {
        while conversation.hears() && ANSWER.iter().all(|byte| conversation.says(&[*byte])) {}
    });
    let mut plan = plan(drop_by_drop);
    plan.check.body = BodyCheck::Equal(b"hello".to_vec());
    assert_answered(&run(&plan), "single bytes");
}

#[test]
fn bytes_that_nobody_asked_for_end_the_connection() {
    let talkative = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n");
    let run = run(&plan(talkative));
    let requests = &run.requests;
    assert!(requests.answered > 0, "{requests:?}");
    assert!(
        requests.unasked >= requests.answered - 3,
        "each answer has something behind it: {requests:?}"
    );
    assert_eq!(requests.failed_by.of(FailureKind::Garbage), requests.unasked, "{requests:?}");
    assert!(run.connections.closed >= requests.answered - 3, "{:?}", run.connections);
}

#[test]
fn a_server_may_end_a_connection_and_say_so() {
    let run = run(&plan(answering_once(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    )));
    assert_answered(&run, "close");
    assert!(run.connections.opened >= run.requests.answered, "{:?}", run.connections);
}

#[test]
fn a_server_that_ends_connections_without_saying_so_resets_what_comes_after() {
    let run = run(&plan(answering_once(ANSWER)));
    let requests = &run.requests;
    assert!(requests.answered > 0, "{requests:?}");
    assert_eq!(requests.failed_by.of(FailureKind::Reset), requests.failed, "{requests:?}");
    assert!(requests.failed <= requests.answered + 3, "one for each connection: {requests:?}");
}

#[test]
fn a_connection_carries_as_many_requests_as_it_should() {
    for count in [1, 3] {
        let address = serve(move |conversation| {
            for _ in 1..count {
                if !conversation.hears() || !conversation.says(ANSWER) {
                    return;
                }
            }
            if conversation.hears() {
                conversation.says(ANSWER);
                // The last request has `Connection: close`: the generator closes if the server does not.
                conversation.outlasts();
            }
        });
        let mut plan = plan(address);
        plan.lifetime = Lifetime::Requests(NonZeroU64::new(count).unwrap());
        let run = run(&plan);
        assert_answered(&run, "counted");
        let (sent, opened) = (run.requests.sent, run.connections.opened);
        // At both ends of the run a connection may count for it with only a part of its requests.
        assert!(sent.abs_diff(opened * count) <= 3 * count, "{sent} {opened}");
    }
}

#[test]
fn requests_pipelined_behind_last_answer_count_as_reset() {
    let mut plan = plan(answering_once(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    ));
    plan.pipeline = 4;
    let run = run(&plan);
    let requests = &run.requests;
    assert!(requests.answered > 0, "{requests:?}");
    // Failures of connections that ended after the run belong to no answer.
    let behind = 3 * requests.answered..=3 * (requests.answered + 3);
    assert!(behind.contains(&requests.failed), "{requests:?}");
    assert_eq!(requests.failed_by.of(FailureKind::Reset), requests.failed, "{requests:?}");
}

#[test]
fn requests_pipelined_behind_garbage_count_as_reset() {
    let mut plan = plan(answering(b"garbage"));
    plan.pipeline = 4;
    let requests = run(&plan).requests;
    assert!(requests.failed_by.of(FailureKind::Garbage) > 0, "{requests:?}");
    let garbage = requests.failed_by.of(FailureKind::Garbage);
    assert_eq!(requests.failed_by.of(FailureKind::Reset), 3 * garbage, "{requests:?}");
}
