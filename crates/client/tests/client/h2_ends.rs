//! Goal: an end of a stream or of a connection of HTTP/2 costs no request that may be sent again, and is told for what
//! it is. Method: a server that the test plays frame by frame.

use client::limits::{IDLE_PER_ORIGIN, UNSERVED_REPEATS};
use client::{
    ClientBounds, ClientStats, Deadline, ExchangeFailure, ExchangeNews, Forward, OutgoingBody,
    ResponseHead,
};
use wire::h2::{AfterFrame, ErrorCode, SettingId, write_goaway, write_reset};
use wire::http::fields::FieldList;
use world::ClientState;

use crate::exchanges::{OK, ok, quiet};
use crate::forwarding::pattern;
use crate::h2::GET;
use crate::h2_origin::{Origin, forward};

fn failed(failure: ExchangeFailure) -> Vec<ExchangeNews> {
    vec![ExchangeNews::Failed(failure)]
}

/// RFC 9113, 8.7.
#[test]
fn a_request_that_a_server_has_not_begun_is_sent_again() {
    let mut calls = quiet();
    // One that may not be repeated after it was served.
    let id = calls.forward(forward("POST", "/", OutgoingBody::Whole(b"x".into())));
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    for stream in [1, 3] {
        write_reset(stream, ErrorCode::RefusedStream, &mut origin.out);
        origin.send(&mut calls);
        let heard = origin.heard(&mut calls);
        assert!(heard[0].starts_with(&format!("HEADERS {} ", stream + 2)), "{heard:?}");
    }
    assert_eq!(UNSERVED_REPEATS, 2);
    write_reset(5, ErrorCode::RefusedStream, &mut origin.out);
    origin.send(&mut calls);
    let refused = ExchangeFailure::StreamReset(ErrorCode::RefusedStream);
    assert_eq!(calls.news(id, 9), failed(refused));
    assert_eq!(refused.to_string(), "the server ended the request: RST_STREAM REFUSED_STREAM");
    // Of a streamed body a part is gone.
    let id = calls.forward(forward("POST", "/", OutgoingBody::Streamed(None)));
    let now_ns = calls.world.now_ns();
    calls.client().send(id, b"part", now_ns);
    calls.turn();
    write_reset(7, ErrorCode::RefusedStream, &mut origin.out);
    origin.send(&mut calls);
    assert_eq!(calls.news(id, 9), failed(refused));
    // One that it has begun to answer cannot be taken back.
    let id = calls.forward(forward("POST", "/", OutgoingBody::Streamed(None)));
    origin.head(9, &[(":status", "200")], AfterFrame::More);
    write_reset(9, ErrorCode::RefusedStream, &mut origin.out);
    origin.send(&mut calls);
    assert_eq!(calls.news(id, 9).pop(), failed(ExchangeFailure::Closed).pop());
    // An error that says nothing about what was done.
    let id = calls.get("/");
    write_reset(11, ErrorCode::InternalError, &mut origin.out);
    origin.send(&mut calls);
    let reset = ExchangeFailure::StreamReset(ErrorCode::InternalError);
    assert_eq!(calls.news(id, 9), failed(reset));
}

/// A server that has begun to answer has begun to serve, whatever it says behind that: nobody is told that the request
/// may go elsewhere.
#[test]
fn an_interim_answer_cannot_be_taken_back() {
    let resets = |out: &mut Vec<u8>| write_reset(1, ErrorCode::RefusedStream, out);
    let leaves = |out: &mut Vec<u8>| write_goaway(0, ErrorCode::NoError, "", out);
    let ends: [fn(&mut Vec<u8>); 2] = [resets, leaves];
    for end in ends {
        let mut calls = quiet();
        let id = calls.forward(forward("POST", "/", OutgoingBody::Whole(b"x".into())));
        let (mut origin, _) = Origin::greeted(&mut calls, &[]);
        origin.head(1, &[(":status", "103")], AfterFrame::More);
        end(&mut origin.out);
        origin.send(&mut calls);
        let interim = ResponseHead { status: 103, fields: FieldList::new() };
        let failed = ExchangeNews::Failed(ExchangeFailure::Closed);
        assert_eq!(calls.news(id, 9), [ExchangeNews::Interim(interim), failed]);
        assert_eq!((calls.accept(), origin.heard(&mut calls)), (None, Vec::new()));
    }
}

/// A server may hold a request for long before it says that it has not begun it.
#[test]
fn a_request_that_is_sent_again_has_time_for_another_connection() {
    let mut calls = quiet();
    let id = calls.get("/");
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    calls.pass_ms(50_000);
    write_goaway(0, ErrorCode::NoError, "", &mut origin.out);
    origin.send(&mut calls);
    let (mut next, _) = Origin::greeted(&mut calls, &[]);
    next.ok(&mut calls, 1);
    assert_eq!(calls.news(id, 9), ok());
}

/// RFC 9113, 7: some servers want it for requests with a certificate of the client.
#[test]
fn a_request_that_a_server_wants_over_http1_is_sent_so() {
    let mut calls = quiet();
    let ids = [calls.get("/0"), calls.get("/1")];
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    write_reset(1, ErrorCode::Http11Required, &mut origin.out);
    origin.send(&mut calls);
    write_goaway(1, ErrorCode::Http11Required, "", &mut origin.out);
    origin.send(&mut calls);
    for (id, path) in ids.into_iter().zip(["GET /0 HTTP/1.1\r\n", "GET /1 HTTP/1.1\r\n"]) {
        let server = calls.accept().unwrap();
        assert!(calls.received(server).starts_with(path));
        calls.answer(server, OK);
        let length = FieldList::of(&[("Content-Length", "2")]);
        let head = ExchangeNews::Head(ResponseHead { status: 200, fields: length });
        assert_eq!(calls.news(id, 9).first(), Some(&head));
    }
}

/// RFC 9113, 6.8.
#[test]
fn a_connection_that_goes_away_serves_what_it_has_begun() {
    let mut calls = quiet();
    let (served, unserved) = (calls.get("/served"), calls.get("/unserved"));
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    write_goaway(1, ErrorCode::NoError, "", &mut origin.out);
    origin.send(&mut calls);
    let (mut next, heard) = Origin::greeted(&mut calls, &[]);
    assert_eq!(heard, [format!("HEADERS 1 {GET} :path=/unserved te=trailers end")]);
    next.ok(&mut calls, 1);
    assert_eq!(calls.news(unserved, 9), ok());
    assert_eq!(calls.world.client_state(origin.socket), ClientState::Open);
    origin.ok(&mut calls, 1);
    assert_eq!(calls.news(served, 9), ok());
    calls.turn();
    assert_ne!(calls.world.client_state(origin.socket), ClientState::Open);
    // One that breaks off says why.
    let id = calls.forward(forward("POST", "/", OutgoingBody::None));
    write_goaway(3, ErrorCode::EnhanceYourCalm, "", &mut next.out);
    next.send(&mut calls);
    calls.world.client_close(next.socket);
    let gone = ExchangeFailure::GoneAway(ErrorCode::EnhanceYourCalm);
    assert_eq!(calls.news(id, 9), failed(gone));
    assert_eq!(gone.to_string(), "the server ended the connection: GOAWAY ENHANCE_YOUR_CALM");
}

/// RFC 9112, 9.3.1: as for any connection that was used before.
#[test]
fn an_idempotent_request_is_sent_again_if_its_used_connection_ends() {
    for (method, is_repeated) in [("GET", true), ("POST", false)] {
        let mut calls = quiet();
        let id = calls.get("/");
        let (mut origin, _) = Origin::greeted(&mut calls, &[]);
        origin.ok(&mut calls, 1);
        assert_eq!(calls.news(id, 9), ok());
        let id = calls.forward(forward(method, "/", OutgoingBody::None));
        calls.world.client_reset(origin.socket);
        if is_repeated {
            let (mut origin, _) = Origin::greeted(&mut calls, &[]);
            origin.ok(&mut calls, 1);
            assert_eq!(calls.news(id, 9), ok());
        } else {
            assert_eq!(calls.news(id, 9), failed(ExchangeFailure::Closed));
        }
    }
}

#[test]
fn an_exchange_that_is_given_up_ends_its_stream_and_what_comes_late_is_dropped() {
    let mut calls = quiet();
    let id = calls.get("/");
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    calls.client().cancel(id);
    calls.turn();
    assert_eq!(origin.heard(&mut calls), ["RST_STREAM 1 CANCEL"]);
    origin.head(1, &[(":status", "200"), ("x-late", "1")], AfterFrame::More);
    origin.data(1, &pattern(0, 100_000), AfterFrame::Nothing);
    origin.send(&mut calls);
    let id = calls.get("/next");
    origin.ok(&mut calls, 3);
    assert_eq!(calls.news(id, 9), ok());
    // More than the stream's window was not on its way.
    origin.data(1, &pattern(0, 100_000), AfterFrame::More);
    origin.send(&mut calls);
    let heard = origin.heard(&mut calls).join(" ");
    assert!(heard.contains("GOAWAY STREAM_CLOSED"), "{heard}");
}

#[test]
fn an_idle_connection_ends_and_one_whose_server_is_silent_is_not_used_again() {
    let mut calls = quiet();
    let id = calls.get("/");
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    origin.ok(&mut calls, 1);
    assert_eq!(calls.news(id, 9), ok());
    calls.pass_ms(29_900);
    assert_eq!(origin.heard(&mut calls), [""; 0]);
    calls.pass_ms(200);
    assert_eq!(origin.heard(&mut calls), ["GOAWAY NO_ERROR"]);
    assert_eq!(calls.scheduler.processes(), 0);
    let (late, slow) = (calls.get("/late"), calls.get("/slow"));
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    calls.pass_ms(59_000);
    origin.open(0, 1);
    origin.send(&mut calls);
    calls.pass_ms(2_000);
    assert_eq!(calls.news(late, 9), failed(ExchangeFailure::Timeout(Deadline::Head)));
    assert_eq!(calls.news(slow, 9), failed(ExchangeFailure::Timeout(Deadline::Head)));
    let id = calls.get("/");
    assert_eq!(calls.accept(), None, "something came a moment ago");
    calls.client().cancel(id);
    let id = calls.get("/");
    calls.pass_ms(61_000);
    assert_eq!(calls.news(id, 9), failed(ExchangeFailure::Timeout(Deadline::Head)));
    assert_ne!(calls.world.client_state(origin.socket), ClientState::Open);
    calls.get("/");
    assert!(calls.accept().is_some());
}

/// As over HTTP/1.1: one more ends after its answer.
#[test]
fn no_more_connections_are_idle_than_the_bound_says() {
    let mut calls = quiet();
    let one = [(SettingId::MAX_CONCURRENT_STREAMS, 1)];
    let mut begin = || {
        let id = calls.get("/");
        (id, Origin::greeted(&mut calls, &one).0)
    };
    let mut all: Vec<_> = (0..=IDLE_PER_ORIGIN).map(|_| begin()).collect();
    all.iter_mut().for_each(|(_, origin)| origin.ok(&mut calls, 1));
    let (_, mut last) = all.pop().map(|(id, origin)| (calls.news(id, 9), origin)).unwrap();
    assert_eq!(last.heard(&mut calls), ["GOAWAY NO_ERROR"]);
    assert_ne!(calls.world.client_state(last.socket), ClientState::Open);
    for (id, origin) in &mut all {
        assert_eq!((calls.news(*id, 9), origin.heard(&mut calls)), (ok(), Vec::new()));
        assert_eq!(calls.world.client_state(origin.socket), ClientState::Open);
    }
}

#[test]
fn an_idle_connection_gives_its_place_to_an_exchange_that_shares_none() {
    let mut calls = quiet();
    calls.client().set_bounds(ClientBounds { connections_per_origin: 1, ..Default::default() });
    let id = calls.get("/");
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    origin.ok(&mut calls, 1);
    assert_eq!(calls.news(id, 9), ok());
    let asked = forward("GET", "/socket", OutgoingBody::None);
    calls.forward(Forward { upgrade: Some("websocket".into()), ..asked });
    let server = calls.accept().unwrap();
    assert!(calls.received(server).starts_with("GET /socket HTTP/1.1\r\n"));
    assert_ne!(calls.world.client_state(origin.socket), ClientState::Open);
}

#[test]
fn connections_streams_and_their_ends_are_counted() {
    let mut calls = quiet();
    let ids = ["/0", "/1", "/2", "/3"].map(|path| calls.get(path));
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    let begun = ClientStats {
        http2_connections: 1,
        http2_streams: 4,
        http2_requests: 4,
        ..ClientStats::default()
    };
    assert_eq!(calls.client().stats(), begun);
    calls.client().cancel(ids[0]);
    write_reset(3, ErrorCode::InternalError, &mut origin.out);
    write_goaway(5, ErrorCode::NoError, "", &mut origin.out);
    origin.send(&mut calls);
    let (mut next, _) = Origin::greeted(&mut calls, &[]);
    let left = ClientStats {
        http2_connections: 2,
        http2_streams: 2,
        http2_requests: 5,
        http2_resets: 1,
        http2_goaways: 1,
        http2_repeats: 1,
        ..ClientStats::default()
    };
    assert_eq!(calls.client().stats(), left);
    next.ok(&mut calls, 1);
    calls.world.client_reset(origin.socket);
    calls.turn();
    let idle = ClientStats { idle: 1, http2_connections: 1, http2_streams: 0, ..left };
    assert_eq!(calls.client().stats(), idle);
    next.data(0, b"x", AfterFrame::More);
    next.send(&mut calls);
    calls.world.client_close(next.socket);
    calls.pass_ms(5_000);
    let over = ClientStats { idle: 0, http2_connections: 0, http2_broken: 1, ..idle };
    assert_eq!(calls.client().stats(), over);
}
