//! Goal: a server that breaks the rules of HTTP/2, or wants to keep its client busy, ends its own connection and
//! nothing else. Method: a server that the test plays frame by frame.

use client::limits::BLOCK_BOUNDS;
use client::{ExchangeFailure, ExchangeNews};
use wire::h2::{
    AfterFrame, ErrorCode, FrameHead, FrameKind, SettingId, write_data_head, write_goaway,
    write_ping, write_reset, write_settings, write_window_update,
};
use wire::limits::H2_CONTROL_FRAMES;
use world::ClientState;

use crate::exchanges::quiet;
use crate::h2_origin::{Origin, frame};

type Play = fn(&mut Vec<u8>);

/// The frames of a server behind its settings; the code of the GOAWAY that it gets, and the rule.
const CASES: &[(Play, &str, &str)] = &[
    (
        |out| frame(FrameKind::PUSH_PROMISE, 4, 1, b"\0\0\0\x02\x88", out),
        "PROTOCOL_ERROR",
        "it pushes",
    ),
    (
        |out| {
            frame(FrameKind::HEADERS, 0, 1, b"\x88", out);
            for _ in 0..=BLOCK_BOUNDS.continuations {
                frame(FrameKind::CONTINUATION, 0, 1, b"", out);
            }
        },
        "ENHANCE_YOUR_CALM",
        "a block of fields has no end",
    ),
    (
        |out| {
            frame(FrameKind::HEADERS, 0, 1, &[0; 16_384], out);
            (0..4).for_each(|_| frame(FrameKind::CONTINUATION, 0, 1, &[0; 16_384], out));
        },
        "ENHANCE_YOUR_CALM",
        "a block of fields has no end",
    ),
    (
        |out| {
            frame(FrameKind::HEADERS, 0, 1, b"\x88", out);
            write_ping([0; 8], out);
        },
        "PROTOCOL_ERROR",
        "within a block",
    ),
    (|out| frame(FrameKind::CONTINUATION, 4, 1, b"", out), "PROTOCOL_ERROR", "without a block"),
    // A table of 8,192 bytes, where 4,096 were agreed.
    (
        |out| frame(FrameKind::HEADERS, 4, 1, b"\x3f\xe1\x3f\x88", out),
        "COMPRESSION_ERROR",
        "not HPACK",
    ),
    (|out| frame(FrameKind::HEADERS, 5, 2, b"\x88", out), "PROTOCOL_ERROR", "never begun"),
    (|out| frame(FrameKind::HEADERS, 5, 3, b"\x88", out), "PROTOCOL_ERROR", "never begun"),
    (|out| write_data_head(5, 0, AfterFrame::Nothing, out), "PROTOCOL_ERROR", "never begun"),
    (|out| write_window_update(9, 1, out), "PROTOCOL_ERROR", "never begun"),
    (|out| frame(FrameKind::RST_STREAM, 0, 3, &[0; 4], out), "PROTOCOL_ERROR", "never begun"),
    (|out| write_window_update(0, (1 << 31) - 1, out), "FLOW_CONTROL_ERROR", "too far"),
    (|out| write_settings(&[(SettingId::ENABLE_PUSH, 1)], out), "PROTOCOL_ERROR", "takes pushes"),
    (
        |out| write_settings(&[(SettingId::INITIAL_WINDOW_SIZE, 1 << 31)], out),
        "FLOW_CONTROL_ERROR",
        "invalid value",
    ),
    (
        |out| FrameHead { length: 16_385, kind: FrameKind::DATA, flags: 0, stream: 1 }.write(out),
        "FRAME_SIZE_ERROR",
        "larger than was agreed",
    ),
    (
        |out| frame(FrameKind(0x10), 0, 0, b"\0\0\0\x01u=1", out),
        "PROTOCOL_ERROR",
        "PRIORITY_UPDATE",
    ),
    (
        |out| (0..=H2_CONTROL_FRAMES).for_each(|_| write_ping([0; 8], out)),
        "ENHANCE_YOUR_CALM",
        "of no use",
    ),
    (
        |out| (0..=H2_CONTROL_FRAMES).for_each(|_| write_goaway(1, ErrorCode::NoError, "", out)),
        "ENHANCE_YOUR_CALM",
        "of no use",
    ),
    (
        |out| (0..=H2_CONTROL_FRAMES).for_each(|_| write_settings(&[], out)),
        "ENHANCE_YOUR_CALM",
        "of no use",
    ),
    (
        |out| (0..=H2_CONTROL_FRAMES).for_each(|_| write_window_update(1, 1, out)),
        "ENHANCE_YOUR_CALM",
        "of no use",
    ),
    (
        |out| {
            frame(FrameKind::HEADERS, 4, 1, b"\x88", out);
            (0..=H2_CONTROL_FRAMES).for_each(|_| write_data_head(1, 0, AfterFrame::More, out));
        },
        "ENHANCE_YOUR_CALM",
        "of no use",
    ),
];

#[test]
fn a_server_that_breaks_a_rule_ends_its_connection() {
    for (play, code, rule) in CASES {
        let mut calls = quiet();
        let id = calls.get("/");
        let (mut origin, _) = Origin::greeted(&mut calls, &[]);
        play(&mut origin.out);
        origin.send(&mut calls);
        let told = calls.news(id, 9).pop();
        let Some(ExchangeNews::Failed(failure @ ExchangeFailure::Http2(_))) = told else {
            panic!("{rule}: {told:?}")
        };
        let words = failure.to_string();
        assert!(words.starts_with("the server breaks the rules of HTTP/2: "), "{words}");
        assert!(words.contains(rule), "{rule}: {words}");
        let heard = origin.heard(&mut calls).pop().unwrap();
        assert!(heard.starts_with(&format!("GOAWAY {code} ")), "{rule}: {heard}");
        calls.world.client_close(origin.socket);
        calls.pass_ms(5_000);
        assert_eq!(calls.scheduler.processes(), 0, "{rule}");
        // The next request gets another connection.
        calls.get("/");
        assert!(calls.accept().is_some(), "{rule}");
    }
}

#[test]
fn a_server_that_does_not_speak_http2_is_told_apart() {
    for said in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"SSH-2.0-OpenSSH\r\n", &[0; 9]] {
        let mut calls = quiet();
        let id = calls.get("/");
        let server = calls.accept().unwrap();
        calls.answer(server, said);
        let told = calls.news(id, 9).pop();
        let Some(ExchangeNews::Failed(failure @ ExchangeFailure::Http2(_))) = told else {
            panic!("{told:?}")
        };
        assert!(failure.to_string().contains("does it speak HTTP/2 at all?"), "{failure}");
    }
}

/// As many control frames as a working server sends are no attack.
#[test]
fn control_frames_are_answered_within_their_budget() {
    let mut calls = quiet();
    let id = calls.get("/");
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    for _ in 0..10 {
        (0..150).for_each(|_| write_ping([7; 8], &mut origin.out));
        origin.send(&mut calls);
        assert_eq!(origin.heard(&mut calls), vec!["PONG"; 150]);
        calls.pass_ms(1_000);
    }
    origin.ok(&mut calls, 1);
    assert_eq!(calls.news(id, 9), crate::exchanges::ok());
    assert_eq!(calls.world.client_state(origin.socket), ClientState::Open);
}

/// A requester may give up as often as it likes, and a server may refuse as often.
#[test]
fn the_ends_of_streams_are_not_counted_against_a_server() {
    let is_late = |origin: &mut Origin, stream| {
        origin.head(stream, &[(":status", "200")], AfterFrame::Nothing);
    };
    let is_reset = |origin: &mut Origin, stream| {
        write_reset(stream, ErrorCode::InternalError, &mut origin.out);
    };
    let ends: [fn(&mut Origin, u32); 2] = [is_late, is_reset];
    for (end, is_given_up) in ends.into_iter().zip([true, false]) {
        let mut calls = quiet();
        let mut id = calls.get("/");
        let (mut origin, _) = Origin::greeted(&mut calls, &[]);
        let mut stream = 1;
        for _ in 0..=H2_CONTROL_FRAMES {
            if is_given_up {
                calls.client().cancel(id);
                calls.turn();
            }
            end(&mut origin, stream);
            origin.send(&mut calls);
            stream += 2;
            id = calls.get("/");
        }
        origin.ok(&mut calls, stream);
        assert_eq!(calls.news(id, 9), crate::exchanges::ok(), "given up: {is_given_up}");
    }
}

/// Heads are as long as over HTTP/1.1, interim ones included.
#[test]
fn a_head_that_is_too_long_fails_its_exchange() {
    let long = "x".repeat(30_000);
    let mut calls = quiet();
    let (id, other) = (calls.get("/"), calls.get("/"));
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    for _ in 0..3 {
        origin.head(1, &[(":status", "103"), ("x", &long)], AfterFrame::More);
    }
    for _ in 0..33 {
        origin.head(3, &[(":status", "103")], AfterFrame::More);
    }
    origin.send(&mut calls);
    assert_eq!(calls.news(id, 9).pop(), Some(ExchangeNews::Failed(ExchangeFailure::HeadTooLong)));
    let told = calls.news(other, 9).pop();
    let Some(ExchangeNews::Failed(failure)) = told else { panic!("{told:?}") };
    assert_eq!(failure.to_string(), "not an HTTP answer: more than 32 interim answers");
}
