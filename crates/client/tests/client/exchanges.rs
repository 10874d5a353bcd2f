//! Exchanges of a service: news, deadlines, retries, and the line for a connection.

use std::time::Duration;

use client::limits::{ANSWER_HELD_BYTES, REQUEST_HELD_BYTES};
use client::{
    ClientBounds, Deadline, Deadlines, ExchangeFailure, ExchangeNews, Held, OutgoingBody,
    OutgoingRequest, ResponseHead,
};
use wire::http::fields::FieldList;
use world::{ALWAYS, ClientState, Faults};

use crate::caller::{Calls, request};
use crate::forwarding::pattern;

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

pub(crate) fn quiet() -> Calls {
    Calls::new(1, Faults::none())
}

fn head(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
    ResponseHead { status, fields: FieldList::of(fields) }
}

pub(crate) fn ok() -> Vec<ExchangeNews> {
    let head = head(200, &[("Content-Length", "2")]);
    vec![ExchangeNews::Head(head), ExchangeNews::Body(b"ok".into()), ExchangeNews::End]
}

fn failed(failure: ExchangeFailure) -> Vec<ExchangeNews> {
    vec![ExchangeNews::Failed(failure)]
}

#[test]
fn everything_of_an_answer_is_told_in_order() {
    let mut calls = quiet();
    let id = calls.begin(request("GET", "/"));
    let server = calls.accept().unwrap();
    calls.answer(server, b"HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\nLink: a\r\n\r\n");
    assert_eq!(
        calls.news(id, 9),
        [ExchangeNews::Interim(head(102, &[])), ExchangeNews::Interim(head(103, &[("Link", "a")]))]
    );
    calls.answer(server, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n");
    let told = head(200, &[("transfer-encoding", "chunked")]);
    assert_eq!(calls.news(id, 0), [ExchangeNews::Head(told)]);
    assert_eq!(
        calls.news(id, 3),
        [ExchangeNews::Body(b"bod".into()), ExchangeNews::Body(b"y".into())]
    );
    calls.answer(server, b"0\r\nX-Sum: 7\r\n\r\n");
    let trailers = FieldList::of(&[("X-Sum", "7")]);
    assert_eq!(calls.news(id, 3), [ExchangeNews::Trailers(trailers), ExchangeNews::End]);
    assert_eq!(calls.news(id, 3), []);
}

#[test]
fn an_answer_that_is_not_taken_is_not_read() {
    const SIZE: usize = 40 * ANSWER_HELD_BYTES;
    let mut calls = quiet();
    let id = calls.begin(request("GET", "/"));
    let server = calls.accept().unwrap();
    calls.answer(server, format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes());
    calls.answer(server, &pattern(0, SIZE));
    assert!(calls.client().held(id).answer < 2 * ANSWER_HELD_BYTES);
    // The requester's rest is not the other server's fault.
    calls.pass_ms(1_000_000);
    let mut body = Vec::new();
    loop {
        let news = calls.news(id, 100_000);
        for news in &news {
            match news {
                ExchangeNews::Body(piece) => body.extend_from_slice(piece),
                ExchangeNews::Head(_) => {}
                ExchangeNews::End => assert!(body == pattern(0, SIZE)),
                other => panic!("{other:?}"),
            }
        }
        if news.last() == Some(&ExchangeNews::End) {
            break;
        }
        assert!(!news.is_empty() && calls.client().held(id).answer < 2 * ANSWER_HELD_BYTES);
    }
}

#[test]
fn nothing_more_of_an_answer_is_read_before_its_requester_asks_for_it() {
    const SIZE: usize = 10 * ANSWER_HELD_BYTES;
    let mut calls = quiet();
    let id = calls.begin(request("GET", "/"));
    let server = calls.accept().unwrap();
    calls.answer(server, format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes());
    calls.answer(server, &pattern(0, SIZE));
    let mut got = 0;
    while got < SIZE {
        let now_ns = calls.world.now_ns();
        // It takes all there is, and has no room for more.
        while let Some(news) = calls.client().next(id, ANSWER_HELD_BYTES, now_ns) {
            let ExchangeNews::Body(piece) = news else { continue };
            got += piece.len();
            if calls.client().held(id).answer == 0 {
                break;
            }
        }
        assert_eq!(calls.client().next(id, 0, now_ns), (got == SIZE).then_some(ExchangeNews::End));
        calls.pass_ms(1_000_000);
        assert_eq!(calls.client().held(id), Held::default());
        // Now it has.
        let now_ns = calls.world.now_ns();
        assert_eq!(calls.client().next(id, 1, now_ns), None);
        calls.turn();
    }
}

#[test]
fn a_body_is_taken_as_there_is_room_and_its_requester_is_told() {
    let mut calls = quiet();
    let id =
        calls.begin(OutgoingRequest { body: OutgoingBody::Streamed(None), ..request("POST", "/") });
    let server = calls.accept().unwrap();
    calls.world.client_stall(server, world::Stall::Reading);
    let (mut sent, piece) = (0, pattern(0, 50_000));
    loop {
        let now_ns = calls.world.now_ns();
        let taken = calls.client().send(id, &piece, now_ns);
        sent += taken;
        calls.turn();
        if taken < piece.len() {
            break;
        }
        assert!(sent < 1_000_000, "it is held somewhere");
    }
    assert!(calls.client().held(id).request <= REQUEST_HELD_BYTES);
    assert_eq!(calls.news(id, 9), []);
    calls.world.client_stall(server, world::Stall::Nothing);
    calls.turn();
    let mut received = calls.world.client_received(server).len();
    calls.turn();
    received += calls.world.client_received(server).len();
    assert!(received >= sent, "chunks and all: {received}");
    assert_eq!(calls.news(id, 9), [ExchangeNews::Room]);
    let now_ns = calls.world.now_ns();
    let trailers = FieldList::of(&[("x-end", "1")]);
    calls.client().end_body(id, &trailers, now_ns);
    assert_eq!(calls.received(server), "0\r\nX-End: 1\r\n\r\n");
    calls.answer(server, OK);
    assert_eq!(calls.news(id, 9), ok());
}

#[test]
fn a_body_shorter_or_longer_than_announced_fails_and_its_connection_ends() {
    for sent in ["abc", "abcde"] {
        let mut calls = quiet();
        let id = calls.begin(OutgoingRequest {
            body: OutgoingBody::Streamed(Some(4)),
            ..request("PUT", "/")
        });
        let server = calls.accept().unwrap();
        let now_ns = calls.world.now_ns();
        assert_eq!(calls.client().send(id, sent.as_bytes(), now_ns), sent.len());
        calls.client().end_body(id, &FieldList::new(), now_ns);
        assert_eq!(calls.news(id, 9), failed(ExchangeFailure::RequestLength), "{sent}");
        assert_ne!(calls.world.client_state(server), ClientState::Open);
    }
}

#[test]
fn an_exchange_that_takes_too_long_fails_with_the_deadline_that_passed() {
    let deadlines = Deadlines {
        connect: Some(Duration::from_secs(1)),
        head: Some(Duration::from_secs(2)),
        pause: Some(Duration::from_secs(3)),
        whole: Some(Duration::from_secs(20)),
    };
    let limited = || OutgoingRequest { deadlines, ..request("GET", "/") };
    let late = |deadline| ExchangeNews::Failed(ExchangeFailure::Timeout(deadline));
    let mut calls = quiet();
    calls.world.set_faults(Faults { unanswered: ALWAYS, ..Faults::none() });
    let id = calls.begin(limited());
    calls.world.set_faults(Faults::none());
    calls.pass_ms(990);
    assert_eq!(calls.news(id, 9), []);
    calls.pass_ms(20);
    assert_eq!(calls.news(id, 9), [late(Deadline::Connect)]);

    let id = calls.begin(limited());
    let server = calls.accept().unwrap();
    calls.pass_ms(1_990);
    assert_eq!(calls.news(id, 9), []);
    calls.pass_ms(20);
    assert_eq!(calls.news(id, 9), [late(Deadline::Head)]);
    assert_ne!(calls.world.client_state(server), ClientState::Open);

    let id = calls.begin(limited());
    let server = calls.accept().unwrap();
    calls.pass_ms(1_500);
    calls.answer(server, b"HTTP/1.1 200 OK\r\n\r\n");
    for _ in 0..3 {
        calls.pass_ms(2_900);
        calls.answer(server, b"x");
    }
    calls.pass_ms(2_990);
    assert_eq!(calls.news(id, 9).last(), Some(&ExchangeNews::Body(b"xxx".into())));
    calls.pass_ms(20);
    assert_eq!(calls.news(id, 9), [late(Deadline::Pause)]);

    let id = calls.begin(limited());
    let server = calls.accept().unwrap();
    calls.answer(server, b"HTTP/1.1 200 OK\r\n\r\n");
    for _ in 0..9 {
        calls.pass_ms(2_100);
        calls.answer(server, b"x");
    }
    calls.pass_ms(2_000);
    assert_eq!(calls.news(id, 9).last(), Some(&late(Deadline::Whole)));
}

/// RFC 9110, 9.2.2; RFC 9112, 9.3.1.
#[test]
fn an_idempotent_request_is_sent_again_if_its_used_connection_ends() {
    let with_idle = || {
        let mut calls = quiet();
        let id = calls.begin(request("GET", "/first"));
        let server = calls.accept().unwrap();
        let _request = calls.received(server);
        calls.answer(server, OK);
        assert_eq!(calls.news(id, 9), ok());
        (calls, server)
    };
    let whole = || OutgoingBody::Whole(b"body".into());
    for (method, body, is_repeated) in [
        ("GET", OutgoingBody::None, true),
        ("PUT", whole(), true),
        ("POST", whole(), false),
        ("PUT", OutgoingBody::Streamed(Some(4)), false),
    ] {
        let (mut calls, server) = with_idle();
        let id = calls.begin(OutgoingRequest { body, ..request(method, "/second") });
        let now_ns = calls.world.now_ns();
        calls.client().send(id, b"body", now_ns);
        assert!(calls.received(server).starts_with(method), "on the same connection");
        calls.world.client_reset(server);
        let other = calls.accept();
        assert_eq!(other.is_some(), is_repeated, "{method}");
        if let Some(other) = other {
            assert!(calls.received(other).starts_with(method));
            calls.answer(other, OK);
        }
        let news = if is_repeated { ok() } else { failed(ExchangeFailure::Closed) };
        assert_eq!(calls.news(id, 9), news, "{method}");
    }
}

#[test]
fn an_exchange_waits_in_line_while_its_origin_has_all_its_connections() {
    let mut calls = quiet();
    calls
        .client()
        .set_bounds(ClientBounds { connections_per_origin: 2, ..ClientBounds::default() });
    let ids: Vec<_> = (0..5).map(|n| calls.begin(request("GET", &format!("/{n}")))).collect();
    let (first, second) = (calls.accept().unwrap(), calls.accept().unwrap());
    assert_eq!(calls.accept(), None);
    let _request = calls.received(first);
    calls.answer(first, OK);
    assert!(calls.received(first).starts_with("GET /2 "), "the next in line");
    calls.client().cancel(ids[3]);
    // Its place goes to the next in line, too.
    calls.world.client_reset(second);
    let third = calls.accept().unwrap();
    assert!(calls.received(third).starts_with("GET /4 "));
    calls.answer(third, OK);
    calls.answer(first, OK);
    for id in [ids[0], ids[2], ids[4]] {
        assert_eq!(calls.news(id, 9), ok());
    }
    assert_eq!(calls.news(ids[1], 9), failed(ExchangeFailure::Closed));
    assert_eq!(calls.news(ids[3], 9), []);
    // The line has a deadline.
    let slow: Vec<_> = (0..3).map(|_| calls.begin(request("GET", "/slow"))).collect();
    calls.pass_ms(10_001);
    assert_eq!(calls.news(slow[2], 9), failed(ExchangeFailure::Timeout(Deadline::Connect)));
    assert_eq!(calls.news(slow[1], 9), []);
}

#[test]
fn an_exchange_beyond_the_bound_or_to_https_without_authorities_is_refused() {
    let mut calls = quiet();
    calls.client().set_bounds(ClientBounds { exchanges: 1, ..ClientBounds::default() });
    let id = calls.begin(request("GET", "/"));
    let now_ns = calls.world.now_ns();
    assert_eq!(calls.client().begin(request("GET", "/"), now_ns), Err(ExchangeFailure::TooMany));
    calls.client().cancel(id);
    assert_eq!(calls.client().held(id), Held::default());
    let url = client::Url::parse(b"https://a.test/").unwrap();
    let encrypted = OutgoingRequest { url, ..request("GET", "/") };
    assert_eq!(calls.client().begin(encrypted, now_ns), Err(ExchangeFailure::NoAuthorities));
}

/// RFC 9112, 6.3: two parsers may find different ends of such an answer.
#[test]
fn an_answer_with_two_ends_is_no_answer() {
    for fields in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
    ] {
        let mut calls = quiet();
        let id = calls.begin(request("GET", "/"));
        let server = calls.accept().unwrap();
        calls.answer(server, format!("HTTP/1.1 200 OK\r\n{fields}\r\nok").as_bytes());
        let news = calls.news(id, 9);
        assert!(
            matches!(news[..], [ExchangeNews::Failed(ExchangeFailure::NotAnAnswer(_))]),
            "{fields}: {news:?}"
        );
        assert_ne!(calls.world.client_state(server), ClientState::Open);
    }
}

/// RFC 9110, 7.8: a server may answer as if the protocol had not been asked for.
#[test]
fn an_upgrade_that_is_not_taken_up_is_an_ordinary_answer() {
    let mut calls = quiet();
    let id = calls.begin(OutgoingRequest { upgrade: Some("x".into()), ..request("GET", "/") });
    let server = calls.accept().unwrap();
    let _request = calls.received(server);
    let now_ns = calls.world.now_ns();
    assert_eq!(calls.client().send(id, b"early", now_ns), 0, "the server has not agreed yet");
    calls.answer(server, OK);
    assert_eq!(calls.news(id, 9), ok());
    let id = calls.begin(request("GET", "/again"));
    assert!(calls.received(server).starts_with("GET /again"), "the connection is used again");
    calls.answer(server, OK);
    assert_eq!(calls.news(id, 9), ok());
}

/// A clock for a slow server must not run while its client is slow.
#[test]
fn the_requester_is_told_when_its_request_was_sent_and_who_was_awaited() {
    let whole = Deadlines::whole(Duration::from_secs(10));
    let upload = || OutgoingRequest {
        body: OutgoingBody::Streamed(None),
        deadlines: whole,
        ..request("POST", "/")
    };
    let late = |deadline| ExchangeNews::Failed(ExchangeFailure::Timeout(deadline));
    let mut calls = quiet();
    let id = calls.begin(upload());
    calls.accept().unwrap();
    calls.pass_ms(4_000);
    assert_eq!(calls.client().sent_ns(id), None);
    let now_ns = calls.world.now_ns();
    calls.client().end_body(id, &FieldList::new(), now_ns);
    calls.pass_ms(1);
    let sent_ns = calls.client().sent_ns(id).unwrap();
    assert!((now_ns..now_ns + 2_000_000).contains(&sent_ns), "{sent_ns} {now_ns}");
    calls.pass_ms(10_000);
    assert_eq!(calls.client().failure(id), Some(ExchangeFailure::Timeout(Deadline::Whole)));
    assert_eq!(calls.news(id, 9), [late(Deadline::Whole)]);

    let id = calls.begin(upload());
    calls.accept().unwrap();
    calls.pass_ms(10_010);
    assert_eq!(calls.news(id, 9), [late(Deadline::Requester)]);

    let id = calls.begin(OutgoingRequest { deadlines: whole, ..request("GET", "/") });
    let server = calls.accept().unwrap();
    calls.answer(server, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    assert!(matches!(calls.news(id, 0)[..], [ExchangeNews::Head(_)]));
    calls.pass_ms(10_010);
    assert_eq!(calls.news(id, 9).last(), Some(&late(Deadline::Requester)));
}
