//! Bodies and other protocols over TLS, and ends of connections that are said or not.

use client::limits::ANSWER_HELD_BYTES;
use client::{ExchangeFailure, ExchangeNews, OutgoingBody, OutgoingRequest};
use runtime::transport::Violation;
use wire::http::fields::FieldList;

use crate::authority::Authority;
use crate::exchanges::{OK, ok, quiet};
use crate::forwarding::pattern;
use crate::secure::CLOSING;
use crate::tls_server::{NAMES, TlsServer, acceptor, connector, secure};

/// RFC 8446, 6.1; RFC 9112, 9.8.
#[test]
fn an_answer_that_ends_with_its_connection_is_complete_only_after_close_notify() {
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let until_end = &b"HTTP/1.1 200 OK\r\n\r\nbody"[..];
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
    let part = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody";
    for (answer, is_said, expected) in [
        (until_end, true, ExchangeNews::End),
        (until_end, false, ExchangeNews::Failed(ExchangeFailure::Closed)),
        (chunked, false, ExchangeNews::End),
        (CLOSING, false, ExchangeNews::End),
        (part, true, ExchangeNews::Failed(ExchangeFailure::Closed)),
        (part, false, ExchangeNews::Failed(ExchangeFailure::Closed)),
        (b"", true, ExchangeNews::Failed(ExchangeFailure::Closed)),
    ] {
        let mut calls = quiet();
        let id = calls.begin(secure(&client, "POST", "/"));
        let mut server = TlsServer::accept(&mut calls, &server);
        server.rest(&mut calls);
        server.say(answer);
        if is_said {
            server.say_end();
        }
        server.rest(&mut calls);
        calls.world.client_end_output(server.socket);
        let text = String::from_utf8_lossy(answer);
        assert_eq!(calls.news(id, 9).last(), Some(&expected), "{text} {is_said}");
    }
}

#[test]
fn an_answer_whose_connection_is_cut_anywhere_fails() {
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let mut seen = [false; 3];
    for cut in (0..3_000).step_by(13) {
        let mut calls = quiet();
        let id = calls.begin(secure(&client, "POST", "/"));
        let mut server = TlsServer::accept(&mut calls, &server);
        let (mut left, mut is_answered) = (cut, false);
        loop {
            calls.turn();
            let mut bytes = calls.world.client_received(server.socket);
            server.take(&mut bytes);
            if !server.heard.is_empty() && !is_answered {
                server.say(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
                is_answered = true;
            }
            let wire = server.take_wire();
            let sent = &wire[..left.min(wire.len())];
            if sent.is_empty() {
                break;
            }
            left -= sent.len();
            calls.world.client_send(server.socket, sent);
        }
        calls.world.client_end_output(server.socket);
        let news = calls.news(id, 100);
        match &news[..] {
            [ExchangeNews::Failed(ExchangeFailure::Tls(Violation::Cut))] => seen[0] = true,
            [ExchangeNews::Failed(ExchangeFailure::Closed)] => seen[1] = true,
            [
                ExchangeNews::Head(_),
                ExchangeNews::Body(body),
                ExchangeNews::Failed(ExchangeFailure::Closed),
            ] => {
                assert!(b"until the end".starts_with(body));
                seen[2] = true;
            }
            other => panic!("cut after {cut} bytes: {other:?}"),
        }
        assert_eq!(calls.scheduler.processes(), 0);
    }
    assert_eq!(seen, [true; 3], "in the handshake, before the answer and within it");
}

/// RFC 9112, 9.3.1: an idle connection that its server ends is replaced, however it ends it.
#[test]
fn a_used_connection_that_ends_is_replaced() {
    let authority = Authority::new("Test");
    let (acceptor, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    for is_said in [true, false] {
        let mut calls = quiet();
        let id = calls.begin(secure(&client, "GET", "/"));
        let mut server = TlsServer::accept(&mut calls, &acceptor);
        server.rest(&mut calls);
        server.answer(&mut calls, OK);
        assert_eq!(calls.news(id, 9), ok());
        let id = calls.begin(secure(&client, "GET", "/"));
        if is_said {
            server.say_end();
            server.step(&mut calls);
        }
        calls.world.client_reset(server.socket);
        let mut server = TlsServer::accept(&mut calls, &acceptor);
        server.rest(&mut calls);
        server.answer(&mut calls, OK);
        assert_eq!(calls.news(id, 9), ok());
    }
}

/// 64 MiB in each direction at the same time, of which little is held.
#[test]
fn bodies_of_any_size_pass_in_both_directions_at_once() {
    const SIZE: usize = 64 * 1024 * 1024;
    const STEP: usize = 256 * 1024;
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let mut calls = quiet();
    let body = OutgoingBody::Streamed(Some(SIZE as u64));
    let id = calls.begin(OutgoingRequest { body, ..secure(&client, "POST", "/") });
    let mut server = TlsServer::accept(&mut calls, &server);
    assert!(server.heard(&mut calls).ends_with(&format!("Content-Length: {SIZE}\r\n\r\n")));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
    server.answer(&mut calls, head.as_bytes());
    let (mut sent, mut said, mut up, mut down) = (0, 0, 0, 0);
    for turn in 0.. {
        assert!(turn < 100_000, "it hangs after {up} bytes up and {down} down");
        let now_ns = calls.world.now_ns();
        if sent < SIZE {
            let piece = pattern(sent, STEP.min(SIZE - sent));
            sent += calls.client().send(id, &piece, now_ns);
        }
        // The end of an answer is the end of its exchange, so it comes after the request.
        let is_due = up == SIZE || said + STEP < SIZE;
        if said < SIZE && is_due && calls.world.client_unsent(server.socket) == 0 {
            server.say(&pattern(said, STEP));
            said += STEP;
        }
        server.step(&mut calls);
        assert!(server.heard == pattern(up, server.heard.len()), "the bytes after {up}");
        up += server.heard.len();
        server.heard.clear();
        assert!(calls.client().held(id).answer < 2 * ANSWER_HELD_BYTES);
        for news in calls.news(id, usize::MAX) {
            match news {
                ExchangeNews::Body(piece) => {
                    assert!(piece == pattern(down, piece.len()), "the bytes after {down}");
                    down += piece.len();
                }
                ExchangeNews::Head(_) | ExchangeNews::Room => {}
                ExchangeNews::End => {
                    assert_eq!((up, down), (SIZE, SIZE));
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// RFC 9110, 7.8.
#[test]
fn another_protocol_passes_after_101_and_its_end_is_said() {
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let mut calls = quiet();
    let upgrade = Some("websocket".to_owned());
    let id = calls.begin(OutgoingRequest { upgrade, ..secure(&client, "GET", "/") });
    let mut server = TlsServer::accept(&mut calls, &server);
    assert!(server.heard(&mut calls).ends_with("Upgrade: websocket\r\n\r\n"));
    server.answer(&mut calls, b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\nhello");
    let news = calls.news(id, 9);
    assert!(
        matches!(&news[..], [ExchangeNews::Head(_), ExchangeNews::Body(body)] if body == b"hello"),
        "{news:?}"
    );
    let now_ns = calls.world.now_ns();
    assert_eq!(calls.client().send(id, b"question", now_ns), 8);
    assert_eq!(server.heard(&mut calls), "question");
    calls.client().end_body(id, &FieldList::new(), now_ns);
    server.rest(&mut calls);
    assert!(server.has_ended());
    assert_eq!(calls.news(id, 9), [ExchangeNews::End]);
}
