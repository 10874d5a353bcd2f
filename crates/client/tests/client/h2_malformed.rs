//! Goal: an answer of HTTP/2 that breaks a rule ends its stream, and no other (RFC 9113, 8.1.1). Method: a server that
//! the test plays frame by frame.

use client::{ExchangeFailure, ExchangeNews, OutgoingBody, ResponseHead};
use wire::h2::AfterFrame;
use wire::http::fields::FieldList;

use crate::exchanges::{ok, quiet};
use crate::h2_origin::{Origin, forward};

type Play = fn(&mut Origin);
/// The method of a request, what its server answers, and words of the failure.
const CASES: &[(&str, Play, &str)] = &[
    ("GET", |it| it.head(1, &[("x", "1")], AfterFrame::Nothing), "without :status"),
    ("GET", |it| it.head(1, &[(":status", "101")], AfterFrame::More), "101"),
    ("GET", |it| it.head(1, &[(":status", "20")], AfterFrame::More), "three digits"),
    ("GET", |it| it.head(1, &[(":status", "200"), ("X-A", "b")], AfterFrame::More), "wrong field"),
    (
        "GET",
        |it| it.head(1, &[(":status", "200"), ("connection", "close")], AfterFrame::More),
        "wrong field",
    ),
    (
        "GET",
        |it| it.head(1, &[(":status", "200"), ("a", "b\r\nc: d")], AfterFrame::More),
        "wrong field",
    ),
    ("GET", |it| it.head(1, &[(":status", "103")], AfterFrame::Nothing), "ends the stream"),
    ("GET", |it| it.data(1, b"x", AfterFrame::More), "before the head"),
    (
        "GET",
        |it| {
            it.head(1, &[(":status", "200"), ("content-length", "3")], AfterFrame::More);
            it.data(1, b"four", AfterFrame::More);
        },
        "content-length",
    ),
    (
        "GET",
        |it| {
            it.head(1, &[(":status", "200"), ("content-length", "3")], AfterFrame::More);
            it.data(1, b"ab", AfterFrame::Nothing);
        },
        "content-length",
    ),
    (
        "HEAD",
        |it| {
            it.head(1, &[(":status", "200"), ("content-length", "3")], AfterFrame::More);
            it.data(1, b"abc", AfterFrame::Nothing);
        },
        "has none",
    ),
    (
        "GET",
        |it| {
            it.head(1, &[(":status", "200")], AfterFrame::More);
            it.head(1, &[("x", "1")], AfterFrame::More);
        },
        "do not end",
    ),
    (
        "GET",
        |it| {
            it.head(1, &[(":status", "200")], AfterFrame::More);
            it.head(1, &[(":status", "200")], AfterFrame::Nothing);
        },
        "trailer section",
    ),
];

/// RFC 9113, 8.1.1: a malformed answer ends its stream, and no other.
#[test]
fn an_answer_that_breaks_a_rule_fails_alone() {
    for (method, play, words) in CASES {
        let mut calls = quiet();
        let id = calls.forward(forward(method, "/", OutgoingBody::None));
        let other = calls.get("/other");
        let (mut origin, _) = Origin::greeted(&mut calls, &[]);
        play(&mut origin);
        origin.send(&mut calls);
        let told = calls.news(id, 9).pop();
        let Some(ExchangeNews::Failed(failure @ ExchangeFailure::WrongAnswer(_))) = told else {
            panic!("{words}: {told:?}")
        };
        assert!(failure.to_string().contains(words), "{words}: {failure}");
        let heard = origin.heard(&mut calls);
        assert_eq!(heard, ["RST_STREAM 1 PROTOCOL_ERROR"], "{words}");
        origin.ok(&mut calls, 3);
        assert_eq!(calls.news(other, 9), ok(), "{words}");
    }
}

/// The answer to HEAD, 204 and 304 have no content, whatever their length says (RFC 9110, 8.6).
#[test]
fn an_answer_without_content_may_have_a_length() {
    for (method, status) in [("HEAD", "200"), ("GET", "304")] {
        let mut calls = quiet();
        let id = calls.forward(forward(method, "/", OutgoingBody::None));
        let (mut origin, _) = Origin::greeted(&mut calls, &[]);
        let fields = [(":status", status), ("content-length", "3")];
        origin.head(1, &fields, AfterFrame::Nothing);
        origin.send(&mut calls);
        let fields = FieldList::of(&fields[1..]);
        let told = ResponseHead { status: status.parse().unwrap(), fields };
        assert_eq!(calls.news(id, 9), [ExchangeNews::Head(told), ExchangeNews::End]);
    }
}
