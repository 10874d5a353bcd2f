//! Deadlines end slow clients: no earlier than configured, and no later than the next ticks.
//!
//! Each test is one client in a quiet world, in which only the server's deadlines advance the time.

use http::{Http, HttpSettings};
use runtime::limits::TICK_MS;
use runtime::service::CloseReason;

use crate::client::{Client, Ending, Step};
use crate::expected::Expected;
use crate::small::{Small, get, pattern, post, stage};
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage};

/// How late a deadline may be: it is set for the tick after the next, and turns take time.
const LATE_NS: u64 = 2 * TICK_MS * MILLISECOND_NS + MILLISECOND_NS;

/// A client that does this from the beginning of its world.
fn alone(script: Vec<Step>) -> (Stage<Http<Small>>, Vec<Client>) {
    let stage = stage(&Setting::quiet(1), HttpSettings::default());
    let client = Client::new(stage.now_ns(), script);
    (stage, vec![client])
}

/// Plays a script to its end; returns the stage and the elapsed time.
fn play(script: Vec<Step>) -> (Stage<Http<Small>>, u64) {
    let (mut stage, mut clients) = alone(script);
    let began_ns = stage.now_ns();
    let over = stage.run_until(&mut clients, |_, clients| clients[0].is_over());
    assert!(over, "it hangs: {:?}", clients[0]);
    let (ended_ns, ending) = clients[0].over.unwrap();
    assert_eq!(ending, Ending::Satisfied, "{:?}", clients[0]);
    stage.run_until(&mut [], |stage, _| stage.processes() == 0);
    stage.assert_nothing_is_left();
    (stage, ended_ns - began_ns)
}

fn assert_about(took_ns: u64, seconds: u64) {
    let due_ns = seconds * SECOND_NS;
    assert!(
        (due_ns..=due_ns + LATE_NS).contains(&took_ns),
        "{seconds} s expected, it took {took_ns} ns"
    );
}

fn timed_out() -> Step {
    Step::Expect(Expected::status(408).last())
}

#[test]
fn silent_connection_is_closed_without_response() {
    let (stage, took_ns) = play(vec![Step::ExpectEnd]);
    assert_about(took_ns, 10);
    assert_eq!(stage.closed(CloseReason::Finished), 1);
}

#[test]
fn a_head_that_does_not_end_is_timed_out() {
    let (_, took_ns) = play(vec![Step::Send(b"GET / HTTP/1.1\r\nHo".to_vec()), timed_out()]);
    assert_about(took_ns, 10);
}

#[test]
fn trickled_bytes_do_not_extend_deadline() {
    let bytes = b"GET /plain".map(|byte| vec![byte]);
    let lines = (0..10).map(|number| format!("X-{number}: y\r\n").into_bytes());
    let lines = std::iter::once(b"GET / HTTP/1.1\r\n".to_vec()).chain(lines).take(10).collect();
    for drops in [bytes.to_vec(), lines] {
        let drip = drops.into_iter().flat_map(|drop| [Step::Send(drop), Step::Pause(SECOND_NS)]);
        let (_, took_ns) = play(drip.take(19).chain([timed_out()]).collect());
        assert_about(took_ns, 10);
    }
}

#[test]
fn the_deadline_of_a_head_begins_with_its_first_byte() {
    let hello = || Step::Expect(Expected::new(200, *b"Hello, World!"));
    let request = get("/plaintext");
    let (front, back) = request.split_at(10);
    let (_, took_ns) = play(vec![
        Step::Send(get("/plaintext")),
        hello(),
        Step::Pause(60 * SECOND_NS),
        Step::Send(front.to_vec()),
        Step::Pause(9 * SECOND_NS),
        Step::Send(back.to_vec()),
        hello(),
        Step::Send(front.to_vec()),
        timed_out(),
    ]);
    assert_about(took_ns, 60 + 9 + 10);
}

#[test]
fn an_idle_connection_is_kept_for_its_time() {
    let answered = || {
        let expected = Expected::new(200, *b"Hello, World!");
        [Step::Send(get("/plaintext")), Step::Expect(expected)]
    };
    let script = answered().into_iter().chain([Step::Pause(74 * SECOND_NS)]).chain(answered());
    let (_, took_ns) = play(script.chain([Step::ExpectEnd]).collect());
    assert_about(took_ns, 74 + 75);
}

#[test]
fn a_body_may_pause_but_not_stop() {
    let request = post("/echo", &pattern(100));
    let (most, rest) = request.split_at(request.len() - 20);
    let (_, took_ns) = play(vec![
        Step::Send(most.to_vec()),
        Step::Pause(20 * SECOND_NS),
        Step::Send(rest[..10].to_vec()),
        timed_out(),
    ]);
    assert_about(took_ns, 20 + 30);
}

/// A body of so many bytes a second for so many seconds.
fn body_at(rate: usize, seconds: usize, of: usize) -> Vec<Step> {
    let body = pattern(of);
    let mut script =
        vec![Step::Send(post("/echo", &body)[..post("/echo", &body).len() - of].to_vec())];
    for piece in body.chunks(rate).take(seconds) {
        script.extend([Step::Pause(SECOND_NS), Step::Send(piece.to_vec())]);
    }
    script
}

#[test]
fn a_body_below_the_floor_is_timed_out() {
    let script = body_at(400, 31, 100_000).into_iter().chain([timed_out()]);
    let (_, took_ns) = play(script.collect());
    assert_about(took_ns, 31);
}

#[test]
fn a_body_above_the_floor_is_taken() {
    let script = body_at(600, 100, 30_000);
    let answer = Step::Expect(Expected::new(200, pattern(30_000)));
    let (_, took_ns) = play(script.into_iter().chain([answer]).collect());
    assert_about(took_ns, 50);
}

#[test]
fn reader_that_takes_nothing_is_reset() {
    let request = Step::Send(get("/bytes?200000"));
    let (stage, took_ns) = play(vec![Step::Stall, request, Step::ExpectLoss]);
    assert_about(took_ns, 30);
    assert_eq!(stage.closed(CloseReason::SlowReader), 1);
}

#[test]
fn reader_below_floor_is_reset() {
    let request = Step::Send(get("/bytes?200000"));
    let (stage, took_ns) = play(vec![Step::Pace(300, SECOND_NS), request, Step::ExpectLoss]);
    assert_about(took_ns, 30);
    assert_eq!(stage.closed(CloseReason::SlowReader), 1);
}

#[test]
fn reader_above_floor_receives_everything() {
    let script = vec![
        Step::Pace(700, SECOND_NS),
        Step::Send(get("/bytes?150000")),
        Step::Expect(Expected::new(200, pattern(150_000))),
        Step::Close,
    ];
    let (stage, took_ns) = play(script);
    assert!(took_ns > 200 * SECOND_NS, "it read slowly: {took_ns} ns");
    assert_eq!(stage.closed(CloseReason::SlowReader), 0);
}

#[test]
fn the_time_of_an_idle_connection_begins_when_its_answer_has_left() {
    let hello = Expected::new(200, *b"Hello, World!");
    let script = vec![
        Step::Pace(2_000, SECOND_NS),
        Step::Send(get("/bytes?250000")),
        Step::Expect(Expected::new(200, pattern(250_000))),
        Step::Pause(40 * SECOND_NS),
        Step::Send(get("/plaintext")),
        Step::Expect(hello),
        Step::Close,
    ];
    let (_, took_ns) = play(script);
    assert!(took_ns > 160 * SECOND_NS, "longer than two keep-alive times: {took_ns} ns");
}

#[test]
fn refused_connection_lingers_one_second() {
    let refused = || {
        let request = Step::Send(b"nonsense\r\n\r\n".to_vec());
        vec![request, Step::Expect(Expected::status(400).last())]
    };
    let (mut stage, mut clients) = alone([refused(), vec![Step::Pause(5 * SECOND_NS)]].concat());
    let began_ns = stage.now_ns();
    let closed =
        |stage: &mut Stage<Http<Small>>, _: &[Client]| stage.closed(CloseReason::Finished) == 1;
    assert!(stage.run_until(&mut clients, closed));
    assert_about(stage.now_ns() - began_ns, 1);

    let more = vec![Step::Send(pattern(60_000)), Step::Pause(SECOND_NS / 2)];
    let flood = [refused(), more.clone(), more, vec![Step::ExpectLoss]].concat();
    let (stage, took_ns) = play(flood);
    assert!(took_ns <= SECOND_NS + LATE_NS);
    assert_eq!(stage.closed(CloseReason::Failed), 1, "more than is thrown away");
}

#[test]
fn an_answer_that_does_not_come_is_given_up() {
    let expected = Expected::status(504).last();
    let (stage, took_ns) = play(vec![Step::Send(get("/wait?40000")), Step::Expect(expected)]);
    assert_about(took_ns, 30);
    let expired: u64 = stage.sum(|scheduler| scheduler.stats().deadlines);
    assert_eq!(expired, 1);
}

#[test]
fn an_answer_larger_than_any_queue_reaches_a_slow_reader_whole() {
    let length = 3 * runtime::limits::OUTBOX_BYTES / 2;
    let (stage, _) = play(vec![
        Step::Pace(100_000, 10 * MILLISECOND_NS),
        Step::Send([get(&format!("/bytes?{length}")), get("/plaintext")].concat()),
        Step::Expect(Expected::new(200, pattern(length))),
        Step::Expect(Expected::new(200, *b"Hello, World!")),
        Step::Close,
    ]);
    assert_eq!(stage.closed(CloseReason::OutboxFull), 0);
}

#[test]
fn a_body_that_is_handed_over_has_the_deadline_of_one_that_is_collected() {
    let request = post("/taken", &pattern(100));
    let (most, rest) = request.split_at(request.len() - 20);
    let (_, took_ns) = play(vec![
        Step::Send(most.to_vec()),
        Step::Pause(20 * SECOND_NS),
        Step::Send(rest[..10].to_vec()),
        timed_out(),
    ]);
    assert_about(took_ns, 20 + 30);
}
