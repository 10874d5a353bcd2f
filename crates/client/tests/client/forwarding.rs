//! Goal: the client carries a proxy. Method: clients and servers played byte by byte on both sides of a small one.

use std::time::Duration;

use client::limits::EXCHANGE_HELD_BYTES;
use sys::connect::RemoteAddress;
use world::{ClientId, ClientState, Stage, Stall};

use crate::proxy::Proxy;

/// A stage with the proxy, and the server that it forwards to.
fn stage() -> Stage<Proxy> {
    let stage = Stage::new(1, Proxy::default);
    stage.world().listen_remote(&remote());
    stage
}

pub(crate) fn remote() -> RemoteAddress {
    RemoteAddress::Tcp(([10, 0, 0, 9], 80).into())
}

/// The server's end of the next connection.
fn accept(stage: &mut Stage<Proxy>) -> ClientId {
    stage.rest();
    stage.world().accept_remote(&remote()).expect("the proxy connects").0
}

/// Bytes that differ by their place.
pub(crate) fn pattern(from: usize, length: usize) -> Vec<u8> {
    // A prime: no buffer's size is a multiple of it. Copies are made faster than single bytes.
    const PERIOD: usize = 4_093;
    let period: Vec<u8> = (from..from + PERIOD.min(length))
        .map(|at| at % PERIOD)
        .map(|at| (at ^ (at >> 8)) as u8)
        .collect();
    let mut bytes = period.repeat(length / PERIOD + 1);
    bytes.truncate(length);
    bytes
}

fn assert_bounded(stage: &mut Stage<Proxy>) {
    let proxy = stage.schedulers()[0].service();
    for held in [proxy.most_up, proxy.most_down] {
        assert!(held > 0 && held <= EXCHANGE_HELD_BYTES, "{held} bytes of one exchange");
    }
}

#[test]
fn a_request_goes_on_and_its_answer_comes_back() {
    let mut stage = stage();
    let client = stage.connect();
    for _ in 0..2 {
        stage.send(client, b"GET /x HTTP/1.1\r\nHost: a\r\nX-Own: 1\r\nTE: trailers\r\n\r\n");
    }
    let server = accept(&mut stage);
    for _ in 0..2 {
        assert_eq!(stage.received(server), "GET /x HTTP/1.1\r\nHost: a\r\nX-Own: 1\r\n\r\n");
        stage.send(
            server,
            b"HTTP/1.1 103 \r\nLink: l\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        );
        assert_eq!(
            stage.received(client),
            "HTTP/1.1 103 \r\nLink: l\r\n\r\nHTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"
        );
    }
    assert!(stage.world().accept_remote(&remote()).is_none(), "one connection is enough");
}

/// RFC 9110, 10.1.1.
#[test]
fn a_body_waits_for_consent_for_a_second() {
    const POST: &[u8] =
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody";
    for consent in ["HTTP/1.1 100 C\r\n\r\n", ""] {
        let mut stage = stage();
        let client = stage.connect();
        stage.send(client, POST);
        let server = accept(&mut stage);
        let head =
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";
        assert_eq!(stage.received(server), head);
        stage.send(server, consent.as_bytes());
        if consent.is_empty() {
            stage.pass(Duration::from_millis(900));
            assert_eq!(stage.received(server), "");
            stage.pass(Duration::from_millis(300));
        } else {
            assert_eq!(stage.received(client), "HTTP/1.1 100 \r\n\r\n");
        }
        assert_eq!(stage.received(server), "body");
        stage.send(server, b"HTTP/1.1 204 \r\n\r\n");
        assert_eq!(stage.received(client), "HTTP/1.1 204 \r\n\r\n");
    }
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, POST);
    let server = accept(&mut stage);
    let _head = stage.received(server);
    stage.send(server, b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
    assert!(stage.received(client).starts_with("HTTP/1.1 417"));
    assert_eq!(stage.received(server), "", "the body is not sent");
    assert_ne!(stage.world().client_state(server), ClientState::Open);
}

/// 64 MiB in each direction at the same time, through a proxy that holds a few hundred KiB.
#[test]
fn bodies_of_any_size_pass_in_both_directions_at_once() {
    const SIZE: usize = 64 * 1024 * 1024;
    const STEP: usize = 256 * 1024;
    let mut stage = stage();
    let client = stage.connect();
    stage.send(
        client,
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes(),
    );
    let server = accept(&mut stage);
    let _head = stage.received(server);
    stage.send(server, format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes());
    let _head = stage.received(client);
    let (mut sent, mut up, mut down) = (0, 0, 0);
    for turn in 0.. {
        if (up, down) == (SIZE, SIZE) {
            break;
        }
        assert!(turn < 100_000, "it hangs after {up} bytes up and {down} down");
        let world = stage.world().clone();
        if sent < SIZE && world.client_unsent(client) == 0 && world.client_unsent(server) == 0 {
            let piece = pattern(sent, STEP);
            world.client_send(client, &piece);
            world.client_send(server, &piece);
            sent += STEP;
        }
        stage.rest();
        for (end, count) in [(server, &mut up), (client, &mut down)] {
            let more = world.client_received(end);
            assert!(more == pattern(*count, more.len()), "the bytes after {count}");
            *count += more.len();
        }
    }
    assert_eq!((up, down), (SIZE, SIZE));
    assert_bounded(&mut stage);
}

/// Neither the server nor the client is read further than the other side takes.
#[test]
fn a_slow_reader_slows_the_other_side() {
    const SIZE: usize = 8 * 1024 * 1024;
    for slow in ["server", "client"] {
        let mut stage = stage();
        let world = stage.world().clone();
        let client = stage.connect();
        stage.send(client, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let server = accept(&mut stage);
        stage.send(server, b"HTTP/1.1 200 OK\r\n\r\n");
        let _heads = (stage.received(client), stage.received(server));
        let (fast_end, slow_end) =
            if slow == "server" { (client, server) } else { (server, client) };
        world.client_stall(slow_end, Stall::Reading);
        let body = pattern(0, SIZE);
        if slow == "server" {
            stage.send(client, format!("{SIZE:x}\r\n").as_bytes());
        }
        stage.send(fast_end, &body);
        let unsent = world.client_unsent(fast_end);
        assert!(unsent > SIZE - 1024 * 1024, "{slow}: only {unsent} bytes wait at their sender");
        let mut received = Vec::new();
        for turn in 0.. {
            if received.len() >= SIZE {
                break;
            }
            assert!(turn < 10_000, "{slow}: it hangs after {} bytes", received.len());
            let more = world.client_read(slow_end, 100_000);
            received.extend(more);
            stage.pass(Duration::from_millis(10));
        }
        let is_whole = received.windows(64).any(|window| *window == body[SIZE - 64..]);
        assert!(is_whole, "{slow}: the last bytes came");
        assert_bounded(&mut stage);
    }
}

#[test]
fn a_slow_sender_is_waited_for() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n");
    let server = accept(&mut stage);
    for at in 0..30 {
        stage.pass(Duration::from_secs(100));
        stage.send(client, &[at]);
    }
    let end: String = (0..30_u8).map(char::from).collect();
    let got = stage.received(server);
    assert!(got.ends_with(&format!("\r\n\r\n{end}")), "{got:?}");
    stage.send(server, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n");
    stage.pass(Duration::from_secs(30));
    stage.send(server, b"x");
    assert!(stage.received(client).ends_with("\r\n\r\nx"));
}

/// RFC 9110, 7.8, and RFC 6455: what follows status 101 passes as it is, in both directions.
#[test]
fn a_websocket_passes_in_both_directions_after_status_101() {
    const OPEN: &[u8] =
        b"GET /s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, OPEN);
    let server = accept(&mut stage);
    assert_eq!(
        stage.received(server),
        "GET /s HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    );
    stage.send(server, b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n\x81\x02hi");
    assert_eq!(
        stage.received(client),
        "HTTP/1.1 101 \r\nUpgrade: websocket\r\n\r\n\u{fffd}\u{2}hi"
    );
    for size in [1, 1000, 300_000] {
        let frame = pattern(7, size);
        for (from, to) in [(client, server), (server, client)] {
            stage.send(from, &frame);
            let mut got = Vec::new();
            for turn in 0.. {
                if got.len() == size {
                    break;
                }
                assert!(turn < 1_000, "it hangs after {} bytes", got.len());
                stage.rest();
                got.extend(stage.world().client_received(to));
            }
            assert!(got == frame);
        }
    }
    // It may be silent for as long as it likes.
    stage.pass(Duration::from_secs(3600));
    stage.send(client, b"last");
    assert_eq!(stage.received(server), "last");
    stage.world().client_end_output(client);
    stage.rest();
    assert_ne!(stage.world().client_state(server), ClientState::Open);
    assert_bounded(&mut stage);
}
