//! Servers that answer correctly, in every way that frames allow.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bench::plan::{BodyCheck, Lifetime, LoadPlan, PlannedRequest};
use bench::report::ReasonCode;
use bench::tally::FailureKind;
use wire::h2::{AfterFrame, FrameKind, SettingId};

use super::server::{Heard, greeting, serve, with_each};
use super::{over_http2, plan, streams};
use crate::faults::generator::{assert_answered, assert_only, plan_of, rate, run};

#[test]
fn requests_on_streams_are_answered_in_any_order() {
    let backwards = serve(&[], |session| {
        let mut waiting = Vec::new();
        while let Some(stream) = session.request() {
            waiting.push(stream);
            if waiting.len() == 10 {
                while let Some(stream) = waiting.pop() {
                    session.answers(stream, b"hello");
                }
            }
        }
    });
    let mut plan = plan(backwards);
    plan.check.body = BodyCheck::Equal(b"hello".to_vec());
    plan.check.length = Some(5);
    let run = run(&plan);
    assert_answered(&run, "backwards");
    assert_eq!((run.connections.opened, run.http2), (2, None));
}

#[test]
fn an_open_loop_uses_the_streams_of_its_connections() {
    let mut plan = plan(greeting(&[]));
    plan.pace = rate(500.0);
    let run = run(&plan);
    assert_answered(&run, "open loop");
    assert!(run.requests.asked <= 160, "{:?}", run.requests);
}

#[test]
fn an_answer_may_have_interim_heads_padding_continuations_and_trailers() {
    let address = with_each(|session, stream| {
        session.head(stream, &[(":status", "103"), ("link", "</a.css>")], AfterFrame::More);
        session.frame(FrameKind::HEADERS, 0, stream, b"\x88\x0f");
        session.frame(FrameKind::CONTINUATION, 0, stream, b"");
        session.frame(FrameKind::CONTINUATION, 4, stream, b"\x0d\x015");
        session.frame(FrameKind::DATA, 8, stream, b"\x03hel\0\0\0");
        session.frame(FrameKind::PING, 0, 0, b"12345678");
        session.frame(FrameKind(0x77), 0xff, stream, b"?");
        session.content(stream, b"", AfterFrame::More);
        session.content(stream, b"lo", AfterFrame::More);
        session.head(stream, &[("x-trailer", "1")], AfterFrame::Nothing);
    });
    let mut plan = plan(address);
    plan.check.body = BodyCheck::Equal(b"hello".to_vec());
    assert_answered(&run(&plan), "every kind of frame");
}

#[test]
fn answers_without_content_end_with_their_head() {
    let request = PlannedRequest { method: "HEAD".to_owned(), ..PlannedRequest::default() };
    for (status, length) in [("200", "100"), ("304", "7"), ("204", "0")] {
        let address = with_each(move |session, stream| {
            let fields = [(":status", status), ("content-length", length)];
            session.head(stream, &fields, AfterFrame::Nothing);
        });
        assert_answered(&run(&over_http2(plan_of(address, &request))), status);
    }
}

#[test]
fn an_answer_with_another_status_or_body_has_failed() {
    let address = with_each(|session, stream| {
        session.head(stream, &[(":status", "503")], AfterFrame::Nothing);
    });
    assert_only(&run(&plan(address)), FailureKind::Status, "503");
    let mut plan = plan(greeting(&[]));
    plan.check.body = BodyCheck::Equal(b"hallo".to_vec());
    assert_only(&run(&plan), FailureKind::Check, "another body");
}

#[test]
fn a_connection_has_no_more_streams_than_the_server_allows() {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let address = serve(&[(SettingId::MAX_CONCURRENT_STREAMS, 3)], move |session| {
        let mut open = Vec::new();
        while let Some(heard) = session.hears() {
            if let Heard::Head { stream, .. } = heard {
                open.push(stream);
                seen.fetch_max(open.len(), Ordering::Relaxed);
            }
            if open.len() == 3 {
                let stream = open.remove(0);
                session.answers(stream, b"hello");
            }
        }
    });
    let report = bench::run::requests(&plan(address), Vec::new(), |_| {}).expect("it runs");
    assert_answered(&report.runs[0], "limited");
    assert_eq!((most.load(Ordering::Relaxed), streams(&report.runs[0]).allowed), (3, Some(3)));
    let notes = &report.verdict.notes;
    assert!(notes.iter().any(|note| note.code == ReasonCode::StreamsLimited), "{notes:?}");
}

#[test]
fn a_connection_carries_as_many_requests_as_it_should() {
    let mut plan = plan(greeting(&[]));
    plan.lifetime = Lifetime::Requests(NonZeroU64::new(25).expect("not zero"));
    let run = run(&plan);
    assert_answered(&run, "counted");
    let (sent, opened) = (run.requests.sent, run.connections.opened);
    assert!(sent.abs_diff(opened * 25) <= 4 * 25, "{sent} {opened}");
}

#[test]
fn a_counted_run_ends_after_its_requests() {
    let duration = Duration::from_secs(60);
    let plan = LoadPlan { count: NonZeroU64::new(123), duration, ..plan(greeting(&[])) };
    let requests = run(&plan).requests;
    assert_eq!((requests.answered, requests.failed), (123, 0));
}
