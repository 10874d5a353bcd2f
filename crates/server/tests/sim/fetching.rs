//! Fetches: connections that are opened, reused and closed, and the results.
//!
//! The tests play the other server, byte by byte, in a quiet world.

use std::net::IpAddr;
use std::time::Duration;

use world::{ALWAYS, ClientId, ClientState, Faults};

use crate::fetcher::{Stage, address, get, get_pieces};
use crate::small::pattern;
use crate::world::{MILLISECOND_NS, SECOND_NS};
use client::Deadline;
use config::{Config, FetchRules, Overrides};
use pages::fetch::ExchangeFailure::{
    Closed, NameNotFound, NotAllowed, Refused, Stopping, Timeout, TooMany,
};
use pages::fetch::{ExchangeFailure, FetchOwner, FetchRequest, FetchedAnswer};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn quiet() -> Stage {
    Stage::new(1, Faults::none())
}

fn ok() -> Result<FetchedAnswer, ExchangeFailure> {
    let fields = b"content-length\n2\n".to_vec();
    Ok(FetchedAnswer { status: 200, fields, body: b"ok".to_vec() })
}

fn post() -> FetchRequest {
    FetchRequest { method: "POST".into(), body: Some(b"body".into()), ..get("/") }
}

/// A stage with one idle connection, and its other end.
fn with_idle() -> (Stage, ClientId) {
    let mut stage = quiet();
    stage.begin(1, &get("/first"));
    let client = stage.accept();
    assert!(stage.received(client).starts_with("GET /first HTTP/1.1\r\nHost: 10.0.0.9\r\n"));
    stage.answer(client, OK);
    assert_eq!(stage.outcomes(), [(1, ok())]);
    assert_eq!(stage.outbound(), 1, "it is kept");
    (stage, client)
}

#[test]
fn a_connection_is_used_again_until_it_was_idle_for_too_long() {
    let (mut stage, client) = with_idle();
    stage.begin(2, &post());
    assert_eq!(stage.accepted(), None, "no other one is made");
    assert!(stage.received(client).ends_with("\r\n\r\nbody"));
    stage.answer(client, OK);
    assert_eq!(stage.outcomes(), [(2, ok())]);
    stage.turn_for(29 * SECOND_NS);
    assert_eq!(stage.outbound(), 1);
    stage.turn_for(2 * SECOND_NS);
    assert_eq!(stage.outbound(), 0);
    assert_eq!(stage.world.client_state(client), ClientState::EndedByServer);
    stage.begin(3, &get("/"));
    let other = stage.accept();
    stage.answer(other, OK);
    assert_eq!(stage.outcomes(), [(3, ok())]);
}

#[test]
fn answers_that_say_so_are_the_last_of_their_connection() {
    let answers: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok more",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
    ];
    for text in answers {
        let mut stage = quiet();
        stage.begin(1, &get("/"));
        let client = stage.accept();
        stage.answer(client, text);
        let outcome = stage.outcomes().remove(0).1.unwrap();
        assert_eq!((outcome.status, &outcome.body[..]), (200, &b"ok"[..]));
        assert_eq!(stage.outbound(), 0);
    }
    // Bytes that arrive on an idle connection were not requested.
    let (mut stage, client) = with_idle();
    stage.answer(client, OK);
    assert_eq!((stage.outbound(), stage.outcomes()), (0, Vec::new()));
}

#[test]
fn a_connection_that_was_given_up_while_idle_is_replaced() {
    let (mut stage, client) = with_idle();
    stage.world.client_close(client);
    stage.turn();
    assert_eq!(stage.outbound(), 0, "its end was seen");
    stage.begin(2, &post());
    let other = stage.accept();
    stage.answer(other, OK);
    assert_eq!(stage.outcomes(), [(2, ok())]);
}

#[test]
fn idempotent_request_is_repeated_after_reused_connection_ends() {
    for end in ["orderly", "reset"] {
        let (mut stage, client) = with_idle();
        stage.begin(2, &get("/second"));
        assert!(stage.received(client).starts_with("GET /second"));
        match end {
            "orderly" => stage.world.client_end_output(client),
            _ => stage.world.client_reset(client),
        }
        stage.turn();
        let other = stage.accept();
        assert!(stage.received(other).starts_with("GET /second"), "{end}");
        // Once is enough: this connection was new.
        stage.world.client_end_output(other);
        stage.turn();
        assert_eq!(stage.outcomes(), [(2, Err(Closed))], "{end}");
    }
    let (mut stage, client) = with_idle();
    stage.begin(2, &post());
    stage.world.client_end_output(client);
    stage.turn();
    assert_eq!((stage.outcomes(), stage.accepted()), (vec![(2, Err(Closed))], None));
    // An answer has begun: the request was received.
    let (mut stage, client) = with_idle();
    stage.begin(2, &get("/"));
    stage.answer(client, b"H");
    stage.world.client_end_output(client);
    stage.turn();
    assert_eq!((stage.outcomes(), stage.accepted()), (vec![(2, Err(Closed))], None));
}

#[test]
fn a_body_lasts_until_an_orderly_end_and_no_other() {
    let mut stage = quiet();
    for (owner, expected) in [(1, 200), (2, 0)] {
        stage.begin(owner, &get("/"));
        let client = stage.accept();
        stage.answer(client, b"HTTP/1.1 200 OK\r\n\r\nso far");
        if owner == 1 {
            stage.world.client_end_output(client);
        } else {
            stage.world.client_reset(client);
        }
        stage.turn();
        let (_, result) = stage.outcomes().remove(0);
        assert_eq!(result.map_or(0, |answer| answer.status), expected);
    }
}

#[test]
fn whatever_takes_too_long_is_a_timeout_and_its_connection_is_closed() {
    let brief = |asked: FetchRequest| FetchRequest { timeout: Duration::from_millis(500), ..asked };
    // The name is not resolved.
    let mut stage = quiet();
    stage.begin(1, &brief(FetchRequest { url: b"http://a.test/".into(), ..get("/") }));
    assert_eq!(std::mem::take(stage.client().exchanges().questions()), ["a.test".into()]);
    // The connection is not established.
    let unanswered = Faults { unanswered: ALWAYS, ..Faults::none() };
    stage.world.set_faults(unanswered);
    stage.begin(2, &brief(get("/")));
    stage.world.set_faults(Faults::none());
    // The answer does not come, or not all of it.
    stage.begin(3, &brief(get("/")));
    stage.begin(4, &brief(get("/")));
    let (silent, slow) = (stage.accept(), stage.accept());
    stage.answer(slow, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    stage.turn_for(499 * MILLISECOND_NS);
    assert_eq!(stage.outcomes(), []);
    assert_eq!(stage.outbound(), 3);
    stage.turn_for(2 * MILLISECOND_NS);
    let outcomes = stage.outcomes();
    assert_eq!(outcomes, [1, 2, 3, 4].map(|owner| (owner, Err(Timeout(Deadline::Whole)))));
    assert_eq!((stage.outbound(), stage.under_way()), (0, 0));
    for client in [silent, slow] {
        assert_ne!(stage.world.client_state(client), ClientState::Open);
    }
    // A late result is ignored.
    stage.learn("a.test", Some(&[IpAddr::from([10, 0, 0, 9])]));
    assert_eq!((stage.outcomes(), stage.accepted()), (Vec::new(), None));
}

#[test]
fn abandoned_fetch_delivers_nothing() {
    let (mut stage, client) = with_idle();
    stage.begin(2, &get("/"));
    stage.begin(3, &get("/"));
    let other = stage.accept();
    for name in [2, 3] {
        stage.give_up(name);
    }
    stage.turn();
    assert_eq!((stage.outbound(), stage.under_way()), (0, 0));
    for client in [client, other] {
        assert_ne!(stage.world.client_state(client), ClientState::Open);
    }
    // Begun and cancelled in one turn; a new fetch gets its new answer, whatever the old connection does.
    stage.begin_only(4, &get("/old"));
    stage.give_up(4);
    stage.begin(5, &get("/new"));
    let (old, client) = (stage.accept(), stage.accept());
    assert_eq!(stage.received(old), "", "it was begun already");
    assert_ne!(stage.world.client_state(old), ClientState::Open);
    assert!(stage.received(client).starts_with("GET /new"));
    assert_eq!(stage.accepted(), None);
    stage.answer(client, OK);
    assert_eq!(stage.outcomes(), [(5, ok())]);
}

#[test]
fn addresses_are_tried_in_their_order() {
    let mut stage = quiet();
    let named = FetchRequest { url: b"http://a.test/".into(), ..get("/") };
    stage.begin(1, &named);
    stage.begin(2, &named);
    let questions = std::mem::take(stage.client().exchanges().questions());
    assert_eq!(questions, ["a.test".into()], "asked once");
    stage.learn("a.test", Some(&[[10, 0, 0, 8].into(), [10, 0, 0, 9].into()]));
    for _ in 0..2 {
        let client = stage.accept();
        assert!(stage.received(client).contains("\r\nHost: a.test\r\n"));
        stage.answer(client, OK);
    }
    assert_eq!(stage.outcomes().len(), 2);
    // Resolved by now, and there is a connection to one of the addresses.
    stage.begin(3, &named);
    assert_eq!((stage.accepted(), stage.outbound()), (None, 2));
    // Nothing listens at these.
    stage.begin(4, &FetchRequest { url: b"http://b.test/".into(), ..get("/") });
    stage.learn("b.test", Some(&[[10, 0, 0, 7].into(), [10, 0, 0, 8].into()]));
    assert_eq!(stage.outcomes(), [(4, Err(Refused))]);
    stage.begin(5, &FetchRequest { url: b"http://c.test/".into(), ..get("/") });
    stage.learn("c.test", None);
    assert_eq!(stage.outcomes(), [(5, Err(NameNotFound))]);
}

#[test]
fn a_name_whose_answer_was_lost_is_asked_for_again() {
    let mut stage = quiet();
    let named = FetchRequest { url: b"http://a.test/".into(), ..get("/") };
    for (owner, asked) in [(1, 1), (2, 0), (3, 0), (4, 1)] {
        stage.begin(owner, &named);
        assert_eq!(std::mem::take(stage.client().exchanges().questions()).len(), asked, "{owner}");
        stage.turn_for(10 * SECOND_NS);
        assert_eq!(stage.outcomes(), [(owner, Err(Timeout(Deadline::Whole)))]);
    }
    stage.begin(5, &named);
    stage.learn("a.test", Some(&[[10, 0, 0, 9].into()]));
    let client = stage.accept();
    stage.answer(client, OK);
    assert_eq!((stage.outcomes(), stage.accepted()), (vec![(5, ok())], None));
}

#[test]
fn there_is_room_for_so_many_and_no_more() {
    let mut stage = quiet();
    for name in 0..1025 {
        stage.begin_only(name, &get("/"));
    }
    stage.turn();
    assert_eq!(stage.outcomes(), [(1024, Err(TooMany))]);
    assert_eq!((stage.under_way(), stage.outbound()), (1024, 1024));
    let mut clients = Vec::new();
    while let Some(client) = stage.accepted() {
        clients.push(client);
        stage.answer(client, OK);
    }
    assert_eq!((clients.len(), stage.outcomes().len()), (1024, 1024));
    assert_eq!(stage.outbound(), 256, "the others are not kept");
}

#[test]
fn fetches_have_a_part_of_the_connections_and_leave_each_other_room() {
    let process = |asked: FetchRequest| FetchRequest { owner: FetchOwner::Process, ..asked };
    let mut stage = quiet();
    stage.client().set_connections(20);
    for name in 0..3 {
        stage.begin_only(name, &process(get("/")));
    }
    assert_eq!(stage.outcomes_of_turn(), [(2, Err(TooMany))], "half for processes");
    for name in 3..6 {
        stage.begin_only(name, &get_pieces("/"));
    }
    assert_eq!(stage.outcomes_of_turn(), [(5, Err(TooMany))], "half for streams");
    stage.begin_only(6, &get("/"));
    stage.begin_only(7, &get("/"));
    assert_eq!(stage.outcomes_of_turn(), [(7, Err(TooMany))], "a quarter of all");
    (0..7).for_each(|name| stage.give_up(name));
    stage.begin_only(8, &process(get_pieces("/")));
    assert_eq!(stage.outcomes_of_turn(), []);
    assert_eq!(stage.outbound(), 1);
    stage.give_up(8);
    stage.client().set_connections(1);
    stage.begin_only(9, &process(get_pieces("/")));
    assert_eq!(stage.outcomes_of_turn(), [], "one there is room for always");
}

#[test]
fn a_request_longer_than_an_outbox_is_sent_as_it_is_taken() {
    let mut stage = quiet();
    let body = pattern(3_000_000);
    stage.begin(1, &FetchRequest { method: "POST".into(), body: Some(body.clone()), ..get("/") });
    let client = stage.accept();
    let mut received = Vec::new();
    loop {
        let more = stage.world.client_received(client);
        if more.is_empty() {
            break;
        }
        received.extend(more);
        stage.turn_for(MILLISECOND_NS);
    }
    assert!(received.ends_with(&body) && received.len() < body.len() + 300);
    stage.answer(client, OK);
    assert_eq!(stage.outcomes(), [(1, ok())]);
}

#[test]
fn draining_closes_idle_connections_at_once_and_lets_others_finish() {
    let (mut stage, idle) = with_idle();
    stage.begin(2, &get("/"));
    let _ = stage.received(idle);
    stage.begin(3, &get("/"));
    let busy = stage.accept();
    stage.answer(busy, OK);
    assert_eq!(stage.outcomes(), [(3, ok())]);
    stage.drain();
    assert_eq!(stage.outbound(), 1, "the one that works");
    stage.answer(idle, OK);
    assert_eq!(stage.outcomes(), [(2, ok())]);
    assert_eq!(stage.outbound(), 0);
}

#[test]
fn running_page_may_fetch_during_drain() {
    let mut stage = quiet();
    // A running fetch, so that there is something to drain.
    stage.begin(1, &get("/"));
    let _first = stage.accept();
    stage.drain();
    stage.begin(2, &get("/second"));
    let second = stage.accept();
    assert!(stage.received(second).starts_with("GET /second"));
    stage.answer(second, OK);
    assert_eq!(stage.outcomes(), [(2, ok())]);
    assert_eq!(stage.outbound(), 1, "its connection is not kept");
    // The drain takes ten seconds at most.
    stage.turn_for(10 * SECOND_NS);
    assert_eq!(stage.outcomes().len(), 1, "the first one, which is never answered");
    assert_eq!(stage.outbound(), 0);
    stage.begin(3, &get("/"));
    assert_eq!(stage.outcomes(), [(3, Err(Stopping))]);
}

#[test]
fn an_address_that_never_answers_leaves_the_next_its_part_of_the_time() {
    let mut stage = quiet();
    stage.begin(1, &FetchRequest { url: b"http://a.test/".into(), ..get("/") });
    stage.world.set_faults(Faults { unanswered: ALWAYS, connect_late: 0, ..Faults::none() });
    stage.learn("a.test", Some(&[[10, 0, 0, 8].into(), [10, 0, 0, 9].into()]));
    stage.world.set_faults(Faults::none());
    stage.turn_for(4 * SECOND_NS);
    assert_eq!((stage.accepted(), stage.outcomes()), (None, Vec::new()), "half of ten seconds");
    stage.turn_for(2 * SECOND_NS);
    let client = stage.accept();
    assert_eq!(stage.outbound(), 1, "the first attempt is over");
    // The last one has all the remaining time.
    stage.turn_for(3 * SECOND_NS);
    stage.answer(client, OK);
    assert_eq!(stage.outcomes(), [(1, ok())]);
}

#[test]
fn only_what_is_allowed_is_asked_and_connected_to() {
    let mut stage = quiet();
    stage.world.listen_remote(&address([10, 0, 0, 8]));
    stage.client().set_rules(rules("[pages]\nfetch = [\"a.test\", \"10.0.0.9\"]\n"));
    let to = |host: &str| FetchRequest { url: format!("http://{host}/").into_bytes(), ..get("/") };
    stage.begin(1, &to("10.0.0.8"));
    assert_eq!(stage.outcomes(), [(1, Err(NotAllowed))]);
    stage.begin(2, &to("b.test"));
    stage.learn("b.test", Some(&[[10, 0, 0, 8].into(), [127, 0, 0, 1].into()]));
    assert_eq!(stage.outcomes(), [(2, Err(NotAllowed))]);
    // One of its addresses is.
    stage.begin(3, &to("c.test"));
    stage.learn("c.test", Some(&[[10, 0, 0, 8].into(), [10, 0, 0, 9].into()]));
    let client = stage.accept();
    stage.answer(client, OK);
    assert_eq!(stage.outcomes(), [(3, ok())]);
    // Its name may lead anywhere.
    stage.begin(4, &to("a.test"));
    stage.learn("a.test", Some(&[[10, 0, 0, 8].into()]));
    assert!(stage.world.accept_remote(&address([10, 0, 0, 8])).is_some());
}

fn rules(text: &str) -> FetchRules {
    let root = std::env::temp_dir();
    let read = Config::from_text(text, "velodrome.toml", &root, &Overrides::default());
    read.unwrap().pages.fetch
}
