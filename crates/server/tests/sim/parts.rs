//! Answers that are sent in parts: the contract of an application that makes them, and what its clients receive.
//!
//! Owns the parts of the small application, and the tests that need more than a client's view of them.

use std::collections::BTreeMap;

use runtime::service::CloseReason;
use runtime::slots::ProcessId;
use world::{ClientId, ClientState, Stall};

use crate::client::{Client, Step};
use crate::expected::Expected;
use crate::small::{Order, Small, get, number, pattern, stage};
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage, address};
use http::{Answer, ClientInterest, Http, HttpSettings, Reply, Request, Status};

/// Bytes of a part.
const PART_BYTES: usize = 1000;

/// Parts between two waits.
const PARTS_BETWEEN_WAITS: usize = 3;

/// The open answers of an application, and its counts.
#[derive(Default)]
pub(crate) struct Parts {
    sent: BTreeMap<u64, usize>,
    stuck: Vec<u64>,
    /// Calls for parts.
    asked: u64,
    /// Answers that were dropped before their end.
    gone: u64,
}

/// Whether a request that waited is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Now,
    NotYet,
}

impl Parts {
    /// Whether a path is answered in parts.
    pub(crate) fn has(path: &str) -> bool {
        matches!(path, "/parts" | "/endless" | "/cut" | "/stuck" | "/empty")
    }

    /// The next part, or the wait before it.
    pub(crate) fn answer(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        process: ProcessId,
        due: Due,
    ) -> Answer {
        self.asked += 1;
        let sent = self.sent.entry(process.to_bits()).or_insert(0);
        assert_eq!(reply.is_begun(), *sent > 0, "the connection knows what was begun");
        if !reply.is_begun() {
            reply.begin_parts(Status::OK);
            reply.field("Content-Type", b"application/octet-stream").unwrap();
            reply.end_head();
        } else if sent.is_multiple_of(PARTS_BETWEEN_WAITS * PART_BYTES) && due == Due::NotYet {
            return Answer::Wait;
        }
        let whole = pattern(number(request.query()));
        let (begin, end) = (*sent, *sent + PART_BYTES);
        *sent = end;
        match request.path() {
            "/endless" => {
                reply.part(&[b'x'; PART_BYTES]);
                return Answer::Part;
            }
            "/stuck" => {
                reply.part(b"one");
                self.stuck.push(process.to_bits());
                *sent = PARTS_BETWEEN_WAITS * PART_BYTES;
                return Answer::Part;
            }
            "/empty" => reply.part(b""),
            _ => reply.part(&whole[begin.min(whole.len())..end.min(whole.len())]),
        };
        if end < whole.len() {
            return Answer::Part;
        }
        self.sent.remove(&process.to_bits());
        if request.path() == "/cut" { Answer::Cut } else { Answer::Done }
    }

    /// For a client that has ended its side, only finite answers continue.
    pub(crate) fn interest(&self, process: ProcessId) -> ClientInterest {
        let is_stuck = self.stuck.contains(&process.to_bits());
        if is_stuck { ClientInterest::Lost } else { ClientInterest::Kept }
    }

    /// Its request is not asked about again.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.gone += u64::from(self.sent.remove(&process.to_bits()).is_some());
    }
}

/// A client and its server.
struct Pair {
    stage: Stage<Http<Small>>,
    client: ClientId,
    received: Vec<u8>,
}

impl Pair {
    fn asking(request: &[u8]) -> Self {
        let stage = stage(&Setting::quiet(1), HttpSettings::default());
        let client = stage.world.connect(&address()).unwrap();
        stage.world.client_send(client, request);
        Self { stage, client, received: Vec::new() }
    }

    /// Runs turns until the condition holds for what the client has received.
    fn until(&mut self, condition: impl Fn(&mut Stage<Http<Small>>, &[u8]) -> bool) {
        let (client, received) = (self.client, &mut self.received);
        let reached = self.stage.run_until(&mut [], |stage, _| {
            received.extend(stage.world.client_received(client));
            condition(stage, received)
        });
        assert!(reached, "it came to rest: {}", String::from_utf8_lossy(received));
    }

    fn until_gone(&mut self) {
        self.until(|stage, _| parts(stage).gone == 1);
        assert!(parts(&mut self.stage).sent.is_empty());
    }

    fn state(&self) -> ClientState {
        self.stage.world.client_state(self.client)
    }
}

fn parts(stage: &mut Stage<Http<Small>>) -> &Parts {
    &stage.schedulers[0].service().application().parts
}

fn play(script: Vec<Step>) {
    let mut stage = stage(&Setting::quiet(1), HttpSettings::default());
    let mut clients = vec![Client::new(stage.now_ns(), script)];
    assert!(stage.run_until(&mut clients, |_, clients| clients[0].is_over()), "{:?}", clients[0]);
    assert!(clients[0].ending() == Some(crate::client::Ending::Satisfied), "{:?}", clients[0]);
    stage.run_until(&mut [], |stage, _| stage.processes() == 0);
    stage.assert_nothing_is_left();
}

#[test]
fn the_first_part_is_there_before_the_next_is_made() {
    let mut pair = Pair::asking(&get("/stuck"));
    pair.until(|_, received| received.ends_with(b"\r\n\r\n3\r\none\r\n"));
    assert_eq!(pair.state(), ClientState::Open);
    assert!(String::from_utf8_lossy(&pair.received).contains("\r\nTransfer-Encoding: chunked\r\n"));
}

#[test]
fn requests_behind_parts_are_answered_after_them() {
    let request = [get("/parts?10500"), get("/plaintext"), get("/parts?0"), get("/json")].concat();
    play(vec![
        Step::Send(request),
        Step::Expect(Expected::new(200, pattern(10_500)).not_last()),
        Step::Expect(Expected::new(200, *b"Hello, World!").not_last()),
        Step::Expect(Expected::new(200, *b"")),
        Step::Expect(Expected::new(200, *br#"{"message":"Hello, World!"}"#)),
        Step::EndOutput,
        Step::ExpectEndSoon,
        Step::Close,
    ]);
}

#[test]
fn http_1_0_gets_parts_until_the_close() {
    let mut pair = Pair::asking(b"GET /parts?2500 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    pair.until(|stage, _| stage.processes() == 0);
    let text = String::from_utf8_lossy(&pair.received).into_owned();
    assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
    assert!(!text.contains("Transfer-Encoding"), "{text}");
    assert!(pair.received.ends_with(&[b"\r\n\r\n", &*pattern(2500)].concat()), "{text}");
    assert_eq!(pair.state(), ClientState::EndedByServer);
}

#[test]
fn head_has_the_head_alone_and_the_connection_goes_on() {
    play(vec![
        Step::Send(b"HEAD /parts?10000 HTTP/1.1\r\nHost: example.test\r\n\r\n".to_vec()),
        Step::Expect(Expected::status(200).head().with("transfer-encoding", "chunked")),
        Step::Send(get("/plaintext")),
        Step::Expect(Expected::new(200, *b"Hello, World!")),
        Step::Close,
    ]);
}

#[test]
fn parts_of_nothing_do_not_end_the_body_and_do_not_hang() {
    play(vec![
        Step::Send(get("/empty?7000")),
        Step::Expect(Expected::new(200, *b"")),
        Step::Send(get("/plaintext")),
        Step::Expect(Expected::new(200, *b"Hello, World!")),
        Step::Close,
    ]);
}

#[test]
fn unread_parts_pause_producer_and_slow_reader_is_closed() {
    let mut pair = Pair::asking(&get("/endless"));
    pair.stage.world.client_stall(pair.client, Stall::Reading);
    let began_ns = pair.stage.now_ns();
    let mut most = 0;
    let closed = pair.stage.run_until(&mut [], |stage, _| {
        most = most.max(stage.schedulers[0].stats().buffered_bytes);
        stage.closed(CloseReason::SlowReader) == 1
    });
    assert!(closed);
    assert!(most < 10_000, "one part and its frame is held, not {most} bytes");
    let took_ns = pair.stage.now_ns() - began_ns;
    assert!((30 * SECOND_NS..32 * SECOND_NS).contains(&took_ns), "{took_ns}");
    assert_eq!((parts(&mut pair.stage).gone, parts(&mut pair.stage).sent.len()), (1, 0));
    // As many parts as fit between the two and into their buffers.
    assert!(parts(&mut pair.stage).asked < 10_000, "{}", parts(&mut pair.stage).asked);
}

#[test]
fn an_answer_that_is_cut_is_seen_to_be() {
    let mut pair = Pair::asking(&[get("/cut?2500"), get("/plaintext")].concat());
    pair.until(|stage, _| stage.processes() == 0);
    assert!(pair.received.ends_with(&[&pattern(2500)[2000..], b"\r\n"].concat()));
    assert_eq!(pair.state(), ClientState::EndedByServer);
    // If the close ends the body, only a reset shows that it is incomplete.
    let mut pair = Pair::asking(b"GET /cut?2500 HTTP/1.0\r\n\r\n");
    pair.until(|stage, _| stage.processes() == 0);
    assert_eq!(pair.state(), ClientState::Reset);
}

#[test]
fn an_application_that_falls_silent_in_the_middle_cuts_its_answer() {
    let mut pair = Pair::asking(&get("/stuck"));
    let began_ns = pair.stage.now_ns();
    pair.until_gone();
    let took_ns = pair.stage.now_ns() - began_ns;
    assert!((30 * SECOND_NS..31 * SECOND_NS).contains(&took_ns), "{took_ns}");
    pair.until(|stage, _| stage.processes() == 0);
    assert!(pair.received.ends_with(b"\r\n3\r\none\r\n"), "no last chunk, no 504 behind a part");
    assert_eq!(pair.state(), ClientState::EndedByServer);
}

#[test]
fn a_client_that_goes_away_ends_its_answer() {
    for leave in [world::World::client_close, world::World::client_reset] {
        for request in [get("/endless"), get("/stuck")] {
            let mut pair = Pair::asking(&request);
            pair.until(|_, received| received.len() > 100);
            leave(&pair.stage.world, pair.client);
            let left_ns = pair.stage.now_ns();
            pair.stage.run_until(&mut [], |stage, _| parts(stage).gone == 1);
            assert!(pair.stage.now_ns() < left_ns + 100 * MILLISECOND_NS);
        }
    }
}

#[test]
fn parts_may_go_on_until_the_end_of_a_drain() {
    let mut pair = Pair::asking(&get("/endless"));
    pair.until(|_, received| received.len() > 100);
    let began_ns = pair.stage.now_ns();
    pair.stage.tell_all(|| Order::Drain { deadline_ms: 3000, idle_grace_ms: 500 });
    pair.until(|stage, _| stage.schedulers[0].is_finished());
    assert!(pair.stage.now_ns() >= began_ns + 3 * SECOND_NS);
    assert_eq!(pair.stage.closed(CloseReason::Stopped), 1);
    assert_eq!(parts(&mut pair.stage).gone, 1);
}
