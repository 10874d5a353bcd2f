//! Flow control: what the windows of a server do to the content of requests.

use bench::plan::{LoadPlan, PlannedRequest, RequestBody};
use bench::report::ReasonCode;
use bench::tally::FailureKind;
use wire::h2::{FrameKind, SettingId, write_window_update};

use super::server::{Heard, greeting, serve};
use super::{impatient, over_http2, streams};
use crate::faults::generator::{assert_answered, assert_only, plan_of, run};

/// A request with this much content, over HTTP/2.
fn posting(address: std::net::SocketAddr, bytes: usize) -> LoadPlan {
    let body = RequestBody::Bytes(vec![b'x'; bytes]);
    let post = PlannedRequest { method: "POST".to_owned(), body, ..PlannedRequest::default() };
    over_http2(plan_of(address, &post))
}

#[test]
fn content_within_the_windows_is_sent_at_once() {
    let run = run(&LoadPlan { pipeline: 1, connections: 1, ..posting(greeting(&[]), 400) });
    assert!(run.requests.answered > 0 && run.requests.failed_by.timeout == 0, "{:?}", run.requests);
}

#[test]
fn content_waits_for_a_window_that_grows_by_single_bytes() {
    let address = serve(&[(SettingId::INITIAL_WINDOW_SIZE, 0)], |session| {
        while let Some(heard) = session.hears() {
            let (stream, is_last) = match heard {
                Heard::Head { stream, .. } => (stream, false),
                Heard::Content { stream, is_last, .. } => (stream, is_last),
                Heard::Other => continue,
            };
            let mut out = Vec::new();
            write_window_update(0, 1, &mut out);
            write_window_update(stream, 1, &mut out);
            if is_last {
                session.answers(stream, b"");
            } else {
                session.says(&out);
            }
        }
    });
    let report = bench::run::requests(&posting(address, 7), Vec::new(), |_| {}).expect("it runs");
    let run = &report.runs[0];
    assert_answered(run, "single bytes");
    assert!(streams(run).window_stalls > 0, "{:?}", streams(run));
    let notes = &report.verdict.notes;
    assert!(notes.iter().any(|note| note.code == ReasonCode::WindowStalls), "{notes:?}");
}

#[test]
fn a_window_that_stays_zero_is_a_timeout_and_counts_as_a_stall() {
    let address = serve(&[(SettingId::INITIAL_WINDOW_SIZE, 0)], |session| session.outlasts());
    let timeout = impatient(address).timeout;
    let run = run(&LoadPlan { timeout, ..posting(address, 7) });
    assert_only(&run, FailureKind::Timeout, "window 0");
    assert!(streams(&run).window_stalls > 0, "{:?}", streams(&run));
}

#[test]
fn a_window_may_become_negative_and_grow_again() {
    let address = serve(&[(SettingId::INITIAL_WINDOW_SIZE, 10)], |session| {
        let mut half = 0;
        while let Some(heard) = session.hears() {
            match heard {
                Heard::Content { stream, is_last: true, .. } => {
                    session.answers(stream, b"");
                }
                Heard::Content { .. } => {
                    half += 1;
                    let small = [0, 4, 0, 0, 0, 0];
                    let large = [0, 4, 0, 0, 0, 200];
                    let settings = if half % 2 == 1 { small } else { large };
                    session.frame(FrameKind::SETTINGS, 0, 0, &settings);
                    session.frame(FrameKind::SETTINGS, 0, 0, &large);
                }
                _ => {}
            }
        }
    });
    assert_answered(&run(&posting(address, 60)), "negative");
}
