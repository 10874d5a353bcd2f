//! Servers that break the protocol, end streams or connections, or do nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use bench::plan::LoadPlan;
use bench::tally::FailureKind;
use wire::h2::{AfterFrame, ErrorCode, FrameKind, write_goaway, write_reset};

use super::server::{Session, serve, with_each};
use super::{assert_named, impatient, plan, streams};
use crate::faults::generator::{assert_answered, assert_only, rate, run};
use crate::faults::server;

fn goaway(session: &mut Session, last: u32, code: ErrorCode) -> bool {
    let mut out = Vec::new();
    write_goaway(last, code, "", &mut out);
    session.says(&out)
}

#[test]
fn requests_behind_a_goaway_are_sent_again_on_another_connection() {
    let address = serve(&[], |session| {
        for _ in 0..20 {
            let Some(stream) = session.request() else { return };
            session.answers(stream, b"hello");
        }
        let Some(stream) = session.request() else { return };
        goaway(session, stream, ErrorCode::NoError);
        session.answers(stream, b"hello");
        session.outlasts();
    });
    for paced in [plan(address), LoadPlan { pace: rate(800.0), ..plan(address) }] {
        let run = run(&paced);
        assert_answered(&run, "goaway");
        assert!(run.connections.opened > 2, "{:?}", run.connections);
    }
    assert!(streams(&run(&plan(address))).repeated > 0);
}

#[test]
fn a_goaway_with_an_error_fails_what_it_did_not_begin() {
    let address = with_each(|session, stream| {
        goaway(session, stream, ErrorCode::EnhanceYourCalm);
        session.answers(stream, b"hello");
    });
    let run = run(&plan(address));
    let requests = &run.requests;
    assert!(requests.failed > 0, "{requests:?}");
    assert_eq!(requests.failed_by.of(FailureKind::Reset), requests.failed, "{requests:?}");
    assert_named(&run, "GOAWAY ENHANCE_YOUR_CALM");
}

#[test]
fn a_server_that_ends_every_connection_at_once_answers_nothing() {
    let address = serve(&[], |session| {
        goaway(session, 0, ErrorCode::NoError);
        session.outlasts();
    });
    let run = run(&impatient(address));
    assert!(run.requests.answered == 0 && run.requests.failed > 0, "{:?}", run.requests);
}

#[test]
fn a_storm_of_resets_fails_each_request() {
    let address = with_each(|session, stream| {
        let mut out = Vec::new();
        write_reset(stream, ErrorCode::RefusedStream, &mut out);
        session.says(&out);
    });
    let run = run(&plan(address));
    assert_only(&run, FailureKind::Reset, "resets");
    assert_named(&run, "RST_STREAM REFUSED_STREAM");
}

#[test]
fn a_request_that_is_not_answered_times_out_alone() {
    let address = serve(&[], |session| {
        let Some(_first) = session.request() else { return };
        while let Some(stream) = session.request() {
            session.answers(stream, b"hello");
        }
    });
    let run = run(&impatient(address));
    let requests = &run.requests;
    assert!(requests.answered > 0, "{requests:?}");
    assert_eq!((requests.failed, requests.failed_by.of(FailureKind::Timeout)), (2, 2));
    assert_eq!(run.connections.closed, 0);
}

#[test]
fn a_silent_server_is_a_timeout_before_and_after_its_settings() {
    let silent = serve(&[], |session| session.outlasts());
    assert_only(&run(&impatient(silent)), FailureKind::Timeout, "after its settings");
    let mute = server::serve(|conversation| conversation.outlasts());
    assert_only(&run(&impatient(mute)), FailureKind::Timeout, "before its settings");
}

#[test]
fn a_server_that_closes_resets_its_requests() {
    let address = serve(&[], |session| {
        session.request();
    });
    assert_only(&run(&plan(address)), FailureKind::Reset, "a close");
    let hasty = server::serve(|_| {});
    assert_only(&run(&plan(hasty)), FailureKind::Reset, "a close at the beginning");
}

#[test]
fn a_server_of_http_1_is_named() {
    let old = server::serve(|conversation| {
        conversation.says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        conversation.outlasts();
    });
    let run = run(&plan(old));
    assert_only(&run, FailureKind::Garbage, "HTTP/1.1");
    assert_named(&run, "not HTTP/2");
}

/// A head that promises three bytes.
const LYING: [(&str, &str); 2] = [(":status", "200"), ("content-length", "3")];

/// The bytes that a server sends instead of an answer.
type Nonsense = fn(&mut Session, u32) -> bool;

#[test]
fn a_server_that_breaks_the_protocol_is_told_so() {
    let cases: &[(&str, Nonsense)] = &[
        ("stream that was never opened", |session, _| {
            session.content(9_999, b"", AfterFrame::More)
        }),
        ("stream that was never opened", |session, _| session.content(2, b"", AfterFrame::More)),
        ("pushes", |session, stream| {
            session.frame(FrameKind::PUSH_PROMISE, 4, stream, b"\0\0\0\x02")
        }),
        ("announces push", |session, _| {
            session.frame(FrameKind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1])
        }),
        ("value that it cannot have", |session, _| {
            session.frame(FrameKind::SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1])
        }),
        ("not HPACK", |session, stream| session.frame(FrameKind::HEADERS, 5, stream, b"\xff")),
        ("interrupted", |session, stream| {
            session.frame(FrameKind::HEADERS, 0, stream, b"\x88")
                && session.content(stream, b"", AfterFrame::More)
        }),
        ("without a beginning", |session, stream| {
            session.frame(FrameKind::CONTINUATION, 4, stream, b"")
        }),
        ("has no end", |session, stream| {
            session.frame(FrameKind::HEADERS, 0, stream, b"");
            (0..5).all(|_| session.frame(FrameKind::CONTINUATION, 0, stream, &[0x88; 16_000]))
        }),
        ("larger than was agreed", |session, stream| {
            session.frame(FrameKind::DATA, 0, stream, &[0; 16_385])
        }),
        ("size that its kind cannot have", |session, _| {
            session.frame(FrameKind::PING, 0, 0, b"1234")
        }),
        ("window is larger than it may be", |session, _| {
            session.frame(FrameKind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])
        }),
    ];
    for (part, nonsense) in cases {
        let run = run(&plan(with_each(|session, stream| {
            nonsense(session, stream);
            session.outlasts();
        })));
        assert_only(&run, FailureKind::Garbage, part);
        assert_named(&run, part);
    }
}

#[test]
fn an_answer_that_is_wrong_fails_alone() {
    let cases: &[(&str, Nonsense)] = &[
        ("longer than its content-length", |session, stream| {
            session.head(stream, &LYING, AfterFrame::More)
                && session.content(stream, b"hello", AfterFrame::More)
        }),
        ("2 bytes came", |session, stream| {
            session.head(stream, &LYING, AfterFrame::More)
                && session.content(stream, b"he", AfterFrame::Nothing)
        }),
        ("content comes before its head", |session, stream| {
            session.content(stream, b"a", AfterFrame::Nothing)
        }),
        ("without :status", |session, stream| {
            session.head(stream, &[("a", "b")], AfterFrame::Nothing)
        }),
        ("status 101", |session, stream| {
            session.head(stream, &[(":status", "101")], AfterFrame::More)
        }),
        ("interim head ends", |session, stream| {
            session.head(stream, &[(":status", "103")], AfterFrame::Nothing)
        }),
        ("wrong trailers", |session, stream| {
            session.head(stream, &[(":status", "200")], AfterFrame::More)
                && session.head(stream, &[(":status", "200")], AfterFrame::Nothing)
        }),
        ("trailers do not end", |session, stream| {
            session.head(stream, &[(":status", "200")], AfterFrame::More)
                && session.head(stream, &[("a", "b")], AfterFrame::More)
        }),
        ("has some", |session, stream| {
            session.head(stream, &[(":status", "204")], AfterFrame::More)
                && session.content(stream, b"a", AfterFrame::Nothing)
        }),
    ];
    for (part, nonsense) in cases {
        let is_first = AtomicBool::new(true);
        let address = with_each(move |session, stream| {
            if is_first.swap(false, Ordering::Relaxed) {
                nonsense(session, stream);
            } else {
                session.answers(stream, b"hello");
            }
        });
        let run = run(&plan(address));
        let requests = &run.requests;
        assert!(requests.answered > 0, "{part}: {requests:?}");
        assert_eq!((requests.failed, requests.failed_by.garbage), (1, 1), "{part}");
        assert_eq!(run.connections.closed, 0, "{part}");
        assert_named(&run, part);
    }
}
