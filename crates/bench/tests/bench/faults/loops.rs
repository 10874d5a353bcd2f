//! Open loops against servers that do not keep up or do not listen.

use std::time::Duration;

use bench::plan::{Arrivals, Lifetime, Ramp, RateStage, RequestPace, RequestRate};
use bench::tally::FailureKind;

use crate::faults::generator::{assert_answered, impatient_plan, plan, rate, run, undisturbed};
use crate::faults::server::{answering, answering_once, nobody, serve};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[test]
fn requests_are_due_whether_or_not_anybody_answers() {
    let mut plan = impatient_plan(serve(|conversation| conversation.outlasts()));
    plan.pace = rate(1000.0);
    let run = undisturbed(&plan, |run| run.requests.asked >= 295 && run.requests.failed > 0);
    let requests = &run.requests;
    assert!((295..=301).contains(&requests.asked), "{requests:?}");
    assert_eq!(requests.failed_by.of(FailureKind::Timeout), requests.failed, "{requests:?}");
    // Three connections, each with a new request 100 ms after the previous one.
    assert!((3..=12).contains(&requests.sent), "{requests:?}");
}

#[test]
fn a_connection_for_each_request_is_opened_when_it_is_due() {
    let mut plan =
        plan(answering_once(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
    plan.pace = rate(200.0);
    plan.lifetime = Lifetime::ONE_REQUEST;
    let run = undisturbed(&plan, |run| run.requests.asked >= 57 && run.requests.answered > 0);
    assert_answered(&run, "a connection each");
    assert!((57..=61).contains(&run.requests.asked), "{:?}", run.requests);
    let opened = run.connections.opened;
    assert!(opened >= run.requests.sent && opened <= run.requests.asked, "{opened}");
}

#[test]
fn without_a_server_every_request_that_is_due_fails() {
    for lifetime in [Lifetime::KeptAlive, Lifetime::ONE_REQUEST] {
        let mut plan = plan(nobody());
        // Fewer than the connections attempt: none has to wait for its turn.
        plan.pace = rate(20.0);
        plan.lifetime = lifetime;
        let run = run(&plan);
        let requests = &run.requests;
        assert!(requests.failed > 0, "{lifetime:?}: {requests:?}");
        assert_eq!(requests.failed_by.of(FailureKind::Connect), requests.failed, "{requests:?}");
        assert!(requests.failed + 1 >= requests.asked, "{lifetime:?}: {requests:?}");
    }
}

#[test]
fn an_open_loop_fills_its_pipelines() {
    // No request is answered before four have arrived.
    let mut plan = plan(serve(|conversation| {
        while (0..4).all(|_| conversation.hears()) && (0..4).all(|_| conversation.says(ANSWER)) {}
    }));
    plan.connections = 1;
    plan.pipeline = 4;
    plan.pace = rate(400.0);
    assert_answered(&run(&plan), "pipelines");
}

#[test]
fn an_open_loop_outlives_its_connections() {
    let mut plan = plan(answering_once(ANSWER));
    plan.pace = rate(100.0);
    let run =
        undisturbed(&plan, |run| run.requests.answered > 10 && run.requests.in_flight_end <= 3);
    let requests = &run.requests;
    assert!(requests.answered > 10, "{requests:?}");
    assert_eq!(requests.failed_by.of(FailureKind::Reset), requests.failed, "{requests:?}");
    assert!(requests.in_flight_end <= 3, "{requests:?}");
}

#[test]
fn a_ramp_asks_for_its_mean() {
    let mut plan = plan(answering(ANSWER));
    plan.pace = stages(&[(100.0, 900.0, plan.duration)]);
    let run = undisturbed(&plan, |run| run.requests.asked >= 145 && run.requests.answered > 0);
    assert_answered(&run, "a ramp");
    assert!((145..=151).contains(&run.requests.asked), "{:?}", run.requests);
}

#[test]
fn stages_ask_for_their_sum_and_rest_in_a_pause() {
    let mut plan = plan(answering(ANSWER));
    let third = plan.duration / 3;
    plan.pace = stages(&[(0.0, 900.0, third), (0.0, 0.0, third), (600.0, 600.0, third)]);
    let run = undisturbed(&plan, |run| run.requests.asked >= 100 && run.requests.answered > 0);
    assert_answered(&run, "stages");
    assert!((100..=106).contains(&run.requests.asked), "{:?}", run.requests);
}

/// Rates at the beginning and end of each stage, and its duration.
fn stages(stages: &[(f64, f64, Duration)]) -> RequestPace {
    let stage =
        |&(from, to, lasts): &(f64, f64, Duration)| RateStage { ramp: Ramp { from, to }, lasts };
    let stages = stages.iter().map(stage).collect();
    RequestPace::Open(RequestRate { stages, arrivals: Arrivals::Constant })
}
