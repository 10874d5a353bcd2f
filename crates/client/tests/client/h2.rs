//! Goal: exchanges share connections of HTTP/2 (RFC 9113), and each gets its own answer or the reason why not. Method:
//! a server that the test plays frame by frame.

use client::limits::{ANSWER_HELD_BYTES, OUTPUT_BYTES, STREAM_WINDOW_BYTES, STREAMS};
use client::{
    ClientBounds, Deadline, ExchangeFailure, ExchangeNews, Forward, OutgoingBody, ResponseHead,
};
use wire::h2::{AfterFrame, FrameKind, SettingId, write_settings};
use wire::http::fields::FieldList;

use crate::caller::Calls;
use crate::exchanges::{ok, quiet};
use crate::forwarding::pattern;
use crate::h2_origin::{Origin, forward, frame};

pub(crate) const GET: &str = ":method=GET :scheme=http :authority=a.example";

fn head(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
    ResponseHead { status, fields: FieldList::of(fields) }
}

fn failed(failure: ExchangeFailure) -> Vec<ExchangeNews> {
    vec![ExchangeNews::Failed(failure)]
}

#[test]
fn a_request_is_a_stream_and_everything_of_its_answer_is_told_in_order() {
    let mut calls = quiet();
    let mut asked = forward("POST", "/x?y", OutgoingBody::Whole(b"four".into()));
    for (name, value) in [("X-Upper", " b "), ("Connection", "x-upper"), ("Cookie", "c=d")] {
        asked.head.field(name, value.as_bytes()).unwrap();
    }
    let id = calls.forward(asked);
    let (mut origin, heard) = Origin::greeted(&mut calls, &[]);
    let request = "HEADERS 1 :method=POST :scheme=http :authority=a.example :path=/x?y x-upper=b \
                   cookie=c=d content-length=4 te=trailers";
    assert_eq!(heard, [request, "DATA 1 4 end"]);
    origin.head(1, &[(":status", "103"), ("link", "a")], AfterFrame::More);
    origin.head(1, &[(":status", "200"), ("x", "1")], AfterFrame::More);
    origin.data(1, b"body", AfterFrame::More);
    origin.head(1, &[("x-sum", "7")], AfterFrame::Nothing);
    origin.send(&mut calls);
    assert_eq!(
        calls.news(id, 3),
        [
            ExchangeNews::Interim(head(103, &[("link", "a")])),
            ExchangeNews::Head(head(200, &[("x", "1")])),
            ExchangeNews::Body(b"bod".into()),
            ExchangeNews::Body(b"y".into()),
            ExchangeNews::Trailers(FieldList::of(&[("x-sum", "7")])),
            ExchangeNews::End,
        ]
    );
    let id = calls.get("/again");
    assert_eq!(origin.heard(&mut calls), [format!("HEADERS 3 {GET} :path=/again te=trailers end")]);
    origin.ok(&mut calls, 3);
    assert_eq!(calls.news(id, 9), ok());
}

#[test]
fn exchanges_share_a_connection_up_to_the_limit_of_its_server() {
    let mut calls = quiet();
    let ids: Vec<_> = (0..3).map(|n| calls.get(&format!("/{n}"))).collect();
    let two = [(SettingId::MAX_CONCURRENT_STREAMS, 2)];
    let (mut first, heard) = Origin::greeted(&mut calls, &two);
    assert_eq!(heard.len(), 3, "they began before the server had said its limit: {heard:?}");
    assert_eq!(calls.accept(), None);
    let fourth = calls.get("/3");
    let (mut second, heard) = Origin::greeted(&mut calls, &two);
    assert_eq!(heard, [format!("HEADERS 1 {GET} :path=/3 te=trailers end")]);
    for stream in [3, 5, 1] {
        first.ok(&mut calls, stream);
    }
    second.ok(&mut calls, 1);
    for id in ids.into_iter().chain([fourth]) {
        assert_eq!(calls.news(id, 9), ok());
    }
    // The first one has room again, so the second one can become idle.
    let id = calls.get("/4");
    assert_eq!(first.heard(&mut calls), [format!("HEADERS 7 {GET} :path=/4 te=trailers end")]);
    first.ok(&mut calls, 7);
    assert_eq!(calls.news(id, 9), ok());
}

#[test]
fn exchanges_wait_in_line_if_there_are_enough_streams_and_connections() {
    let mut calls = quiet();
    calls.client().set_bounds(ClientBounds { connections_per_origin: 1, ..Default::default() });
    let first = calls.get("/0");
    let (mut origin, _) = Origin::greeted(&mut calls, &[(SettingId::MAX_CONCURRENT_STREAMS, 1)]);
    let ids: Vec<_> = (1..4).map(|n| calls.get(&format!("/{n}"))).collect();
    assert_eq!(origin.heard(&mut calls), [""; 0]);
    calls.client().cancel(ids[1]);
    for (stream, path) in [(1, "/1"), (3, "/3")] {
        origin.ok(&mut calls, stream);
        let heard = origin.heard(&mut calls);
        assert_eq!(heard, [format!("HEADERS {} {GET} :path={path} te=trailers end", stream + 2)]);
    }
    origin.ok(&mut calls, 5);
    for id in [first, ids[0], ids[2]] {
        assert_eq!(calls.news(id, 9), ok());
    }
    assert_eq!(calls.accept(), None);
    let many: Vec<_> = (0..2).map(|_| calls.get("/slow")).collect();
    calls.pass_ms(10_001);
    let late = failed(ExchangeFailure::Timeout(Deadline::Connect));
    assert_eq!(calls.news(many[1], 9), late, "the line has a deadline");
}

#[test]
fn an_answer_that_is_not_taken_stops_its_stream_alone() {
    const WINDOW: usize = STREAM_WINDOW_BYTES as usize;
    let mut calls = quiet();
    let (slow, quick) = (calls.get("/slow"), calls.get("/quick"));
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    origin.head(1, &[(":status", "200")], AfterFrame::More);
    origin.data(1, &pattern(0, WINDOW), AfterFrame::More);
    origin.ok(&mut calls, 3);
    assert_eq!(calls.news(quick, 9), ok());
    assert_eq!(origin.heard(&mut calls), [""; 0]);
    assert_eq!(calls.client().held(slow).answer, WINDOW);
    // The requester's rest is not the other server's fault.
    calls.pass_ms(1_000_000);
    let taken = calls.news(slow, WINDOW / 4);
    assert!(
        matches!(taken[..], [ExchangeNews::Head(_), ..]) && taken.len() == 5,
        "{}",
        taken.len()
    );
    let half = WINDOW / 2;
    assert_eq!(origin.heard(&mut calls), [format!("OPEN 1 {half}"), format!("OPEN 1 {half}")]);
    origin.data(1, b"end", AfterFrame::Nothing);
    origin.send(&mut calls);
    assert_eq!(calls.news(slow, 9), [ExchangeNews::Body(b"end".into()), ExchangeNews::End]);
    let id = calls.get("/flood");
    origin.head(5, &[(":status", "200")], AfterFrame::More);
    origin.data(5, &pattern(0, WINDOW + 1), AfterFrame::More);
    origin.send(&mut calls);
    assert!(origin.heard(&mut calls).contains(&"RST_STREAM 5 FLOW_CONTROL_ERROR".to_owned()));
    let told = calls.news(id, 2 * WINDOW).pop();
    let Some(ExchangeNews::Failed(failure)) = told else { panic!("{told:?}") };
    let words = "not an HTTP answer: more content than the window allows";
    assert_eq!(failure.to_string(), words);
}

#[test]
fn a_body_is_sent_as_windows_allow_and_one_that_never_opens_is_too_late() {
    let mut calls = quiet();
    let upload = || forward("POST", "/", OutgoingBody::Streamed(None));
    let id = calls.forward(upload());
    let (mut origin, heard) = Origin::greeted(&mut calls, &[(SettingId::INITIAL_WINDOW_SIZE, 10)]);
    assert_eq!(heard.len(), 1, "{heard:?}");
    let now_ns = calls.world.now_ns();
    assert_eq!(calls.client().send(id, &pattern(0, 100_000), now_ns), ANSWER_HELD_BYTES);
    assert_eq!(origin.heard(&mut calls), ["DATA 1 10"]);
    origin.open(1, 5);
    origin.send(&mut calls);
    assert_eq!(origin.heard(&mut calls), ["DATA 1 5"]);
    // All windows of streams grow.
    write_settings(&[(SettingId::INITIAL_WINDOW_SIZE, 1_000_000)], &mut origin.out);
    origin.send(&mut calls);
    let sent = |heard: &[String]| -> usize {
        heard.iter().map(|line| line.split(' ').nth(2).unwrap().parse::<usize>().unwrap()).sum()
    };
    // That of the connection has 65,535 bytes.
    assert_eq!(sent(&origin.heard(&mut calls)), 65_535 - 15);
    assert_eq!(calls.news(id, 9), [ExchangeNews::Room]);
    let trailers = FieldList::of(&[("X-Sum", "7")]);
    let now_ns = calls.world.now_ns();
    assert_eq!(calls.client().send(id, b"more", now_ns), 4);
    calls.client().end_body(id, &trailers, now_ns);
    origin.open(0, 1_000);
    origin.send(&mut calls);
    assert_eq!(origin.heard(&mut calls), ["DATA 1 5", "HEADERS 1 x-sum=7 end"]);
    origin.ok(&mut calls, 1);
    assert_eq!(calls.news(id, 9), ok());
    let late = calls.forward(forward("PUT", "/", OutgoingBody::Whole(pattern(0, 2_000_000))));
    calls.pass_ms(59_000);
    assert_eq!(calls.news(late, 9), []);
    calls.pass_ms(2_000);
    assert_eq!(calls.news(late, 9), failed(ExchangeFailure::Timeout(Deadline::Pause)));
    assert!(origin.heard(&mut calls).contains(&"RST_STREAM 3 CANCEL".to_owned()));
}

#[test]
fn trailers_follow_a_body_whose_length_was_said_and_are_declared() {
    let mut calls = quiet();
    let sized = || {
        let mut sized = forward("POST", "/", OutgoingBody::Streamed(Some(4)));
        sized.head.declare_trailers(b"X-Sum");
        sized
    };
    let id = calls.forward(sized());
    let (mut origin, heard) = Origin::greeted(&mut calls, &[]);
    assert!(heard[0].ends_with(" content-length=4 trailer=X-Sum te=trailers"), "{heard:?}");
    let now_ns = calls.world.now_ns();
    assert_eq!(calls.client().send(id, b"more", now_ns), 4);
    assert_eq!(origin.heard(&mut calls), ["DATA 1 4"], "trailers may follow");
    calls.client().end_body(id, &FieldList::of(&[("X-Sum", "7")]), now_ns);
    assert_eq!(origin.heard(&mut calls), ["HEADERS 1 x-sum=7 end"]);
    origin.ok(&mut calls, 1);
    assert_eq!(calls.news(id, 9), ok());
    // Without any, the end comes with the content if it is known then.
    for (stream, length) in [(3, Some(4)), (5, None)] {
        let body = OutgoingBody::Streamed(length);
        let id = calls.forward(forward("POST", "/", body));
        origin.heard(&mut calls);
        let now_ns = calls.world.now_ns();
        assert_eq!(calls.client().send(id, b"more", now_ns), 4);
        calls.client().end_body(id, &FieldList::new(), now_ns);
        assert_eq!(origin.heard(&mut calls), [format!("DATA {stream} 4 end")]);
        origin.ok(&mut calls, stream);
        assert_eq!(calls.news(id, 9), ok());
    }
}

#[test]
fn a_request_for_another_protocol_has_a_connection_of_http1() {
    let mut calls = quiet();
    let id = calls.get("/");
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    let asked = forward("GET", "/socket", OutgoingBody::None);
    let socket = calls.forward(Forward { upgrade: Some("websocket".into()), ..asked });
    let server = calls.accept().unwrap();
    assert!(calls.received(server).starts_with("GET /socket HTTP/1.1\r\nHost: a.example\r\n"));
    calls.answer(server, b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n");
    assert!(matches!(
        calls.news(socket, 9)[..],
        [ExchangeNews::Head(ResponseHead { status: 101, .. })]
    ));
    origin.ok(&mut calls, 1);
    assert_eq!(calls.news(id, 9), ok());
}

#[test]
fn a_host_that_two_readers_could_take_for_different_ones_is_refused() {
    for (name, value) in [("Host", "b.example"), ("host", "a b")] {
        let mut calls = quiet();
        let mut asked = forward("GET", "/", OutgoingBody::None);
        asked.head.field(name, value.as_bytes()).unwrap();
        let id = calls.forward(asked);
        let (mut origin, heard) = Origin::greeted(&mut calls, &[]);
        assert_eq!(heard, [""; 0]);
        assert_eq!(calls.news(id, 9), failed(ExchangeFailure::Field));
        let id = calls.get("/");
        origin.ok(&mut calls, 1);
        assert_eq!(calls.news(id, 9), ok());
    }
}

#[test]
fn no_more_streams_are_open_than_this_side_wants() {
    let mut calls: Calls = quiet();
    for _ in 0..STREAMS {
        calls.get("/");
    }
    let (_, heard) = Origin::greeted(&mut calls, &[]);
    assert_eq!(heard.len(), STREAMS);
    calls.get("/");
    let (_, heard) = Origin::greeted(&mut calls, &[]);
    assert_eq!(heard.len(), 1);
}

/// RFC 9113, 6.9.1: windows count padding, which no requester takes.
#[test]
fn padding_uses_no_window_up() {
    const WINDOW: usize = STREAM_WINDOW_BYTES as usize;
    let padded = [&[255, b'x'][..], &[0; 255]].concat();
    let mut calls = quiet();
    let id = calls.get("/");
    let (mut origin, _) = Origin::greeted(&mut calls, &[]);
    origin.head(1, &[(":status", "200")], AfterFrame::More);
    let (mut window, count) = (WINDOW, 3 * WINDOW / padded.len());
    for _ in 0..count {
        assert!(window >= padded.len(), "it waits for ever");
        frame(FrameKind::DATA, 8, 1, &padded, &mut origin.out);
        origin.send(&mut calls);
        window -= padded.len();
        for line in origin.heard(&mut calls) {
            window += line.strip_prefix("OPEN 1 ").unwrap().parse::<usize>().unwrap();
        }
    }
    origin.data(1, b"", AfterFrame::Nothing);
    origin.send(&mut calls);
    let told = calls.news(id, WINDOW);
    assert_eq!(told[1..], [ExchangeNews::Body(vec![b'x'; count]), ExchangeNews::End]);
}

/// Heads are sent whole. If they fill what one run may send, and the socket takes them at once, nothing tells that
/// there is room for bodies.
#[test]
fn bodies_follow_heads_that_fill_a_run() {
    const COUNT: usize = 5;
    let long = "X".repeat(15_000);
    // One of these lengths fills a run to the last byte, whatever else is in it.
    for last in (OUTPUT_BYTES - 4 * long.len() - 1_000..OUTPUT_BYTES - 4 * long.len()).step_by(4) {
        let mut calls = quiet();
        let now_ns = calls.world.now_ns();
        for number in 0..COUNT {
            let mut asked = forward("PUT", "/", OutgoingBody::Whole(b"body".into()));
            let length = if number == 4 { last } else { long.len() };
            asked.head.field("x-long", &long.as_bytes()[..length]).unwrap();
            calls.client().forward(asked, now_ns).unwrap();
        }
        // A frame of the server would have the connection run again.
        let heard = Origin::accept(&mut calls).heard(&mut calls);
        let ends = heard.iter().filter(|line| line.starts_with("DATA ") && line.ends_with(" end"));
        assert_eq!(ends.count(), COUNT, "{last}");
    }
}
