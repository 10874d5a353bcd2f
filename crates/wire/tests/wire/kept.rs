//! Heads that outlive their bytes, and heads that come as values (RFC 9113, 8.2 and 8.3).

use proptest::prelude::*;
use wire::http::head::{
    FieldSlots, Framing, Head, HeadLimits, HttpVersion, RequestHead, RequestTarget, parse,
};
use wire::http::kept::{HeadValues, KeptHead, StreamContent};
use wire::http::method::Method;
use wire::http::refusal::Reason;
use wire::http::url::Scheme;
use wire::websocket;

/// Everything that a request says, also what its `Debug` does not show.
fn told(request: &RequestHead<'_, '_>) -> String {
    let searched = ["host", "content-length", "x", "accept"].map(|name| request.fields.first(name));
    format!("{request:?} {:?} {:?} {searched:?}", request.split_target(), request.line())
}

/// A kept head says what the parsed one says.
fn check(input: &[u8]) -> bool {
    let mut slots = FieldSlots::new();
    let Ok(Head::Complete { request, .. }) =
        parse(input, Scheme::Http, &HeadLimits::default(), &mut slots)
    else {
        return false;
    };
    let kept = KeptHead::of(&request);
    assert_eq!(told(&kept.request()), told(&request), "{}", input.escape_ascii());
    assert_eq!(told(&KeptHead::of(&kept.request()).request()), told(&request));
    assert_eq!((kept.request().line(), kept.request().method), (request.line(), request.method));
    true
}

#[test]
fn a_kept_head_says_what_was_parsed() {
    for input in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "\r\nGET /a?b HTTP/1.1\r\nHost: a\r\n\r\nrest",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\nAccept: b\r\n\r\n",
        "GET http://b.example?q HTTP/1.1\r\nHost: b.example\r\nX:  y \r\nX:\r\n\r\n",
        "GET http://b.example HTTP/1.1\r\nHost: b.example\r\n\r\n",
        "OPTIONS http://b.example HTTP/1.0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc",
        "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ] {
        assert!(check(input.as_bytes()), "{input}");
    }
}

#[test]
fn the_line_of_a_request_is_the_one_that_was_sent() {
    let input = b"\r\n\r\nGET /a?b HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut slots = FieldSlots::new();
    let parsed = parse(input, Scheme::Http, &HeadLimits::default(), &mut slots);
    let Ok(Head::Complete { request, .. }) = parsed else { panic!("{parsed:?}") };
    assert_eq!(request.line(), b"GET /a?b HTTP/1.1");
}

proptest! {
    #[test]
    fn any_kept_head_says_what_was_parsed(input in crate::generate::head()) {
        check(&input);
    }
}

const GET: HeadValues<'_> = HeadValues {
    method: Method::Get,
    scheme: Scheme::Https,
    target: b"/a?b",
    authority: b"a.example",
    follows: StreamContent::None,
};

fn of(values: &HeadValues<'_>, fields: &[(&str, &str)]) -> Result<KeptHead, Reason> {
    let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
    let head = KeptHead::of_values(values, fields, &HeadLimits::default());
    head.map_err(|refusal| refusal.reason())
}

#[test]
fn valid_values_are_lent_as_a_request() {
    let kept = of(&GET, &[("accept", "x/y"), ("x", ""), ("host", "A.example:443")]).unwrap();
    let head = kept.request();
    assert_eq!(
        (head.method, head.scheme, head.version),
        (Method::Get, Scheme::Https, HttpVersion::Http2)
    );
    assert_eq!(head.target, RequestTarget::Origin(b"/a?b"));
    assert_eq!(head.split_target(), (&b"/a"[..], Some(&b"b"[..])));
    assert_eq!(head.host, Some(&b"a.example"[..]));
    assert_eq!(head.fields.first("accept"), Some(&b"x/y"[..]));
    // The authority is the only host.
    assert_eq!(head.fields.all("host").count(), 1);
    assert_eq!(head.framing, Framing::None);
    assert_eq!(head.line(), b"GET /a?b HTTP/2.0");
    let whole = HeadValues { method: Method::Options, target: b"*", ..GET };
    assert_eq!(of(&whole, &[]).unwrap().request().target, RequestTarget::Asterisk);
    let body = HeadValues { method: Method::Post, follows: StreamContent::Body, ..GET };
    assert_eq!(of(&body, &[]).unwrap().request().framing, Framing::Chunked);
    let length = [("content-length", "7"), ("expect", "100-continue")];
    let kept = of(&body, &length).unwrap();
    assert_eq!(kept.request().framing, Framing::Length(7));
    assert!(kept.request().expects_continue);
    assert!(check_values(&kept), "a kept head is one that can be kept again");
}

fn check_values(kept: &KeptHead) -> bool {
    told(&KeptHead::of(&kept.request()).request()) == told(&kept.request())
}

#[test]
fn values_that_are_no_head_are_refused() {
    let long = "x".repeat(9_000);
    for (values, reason) in [
        (HeadValues { target: b"", ..GET }, Reason::MissingTarget),
        (HeadValues { target: b"*", ..GET }, Reason::InvalidTargetForm),
        (HeadValues { target: b"a", ..GET }, Reason::InvalidTargetForm),
        (HeadValues { target: b"/a#b", ..GET }, Reason::FragmentInTarget),
        (HeadValues { target: b"/a b", ..GET }, Reason::InvalidTarget),
        (HeadValues { target: b"/a\r\nX: y", ..GET }, Reason::InvalidTarget),
        (HeadValues { target: long.as_bytes(), ..GET }, Reason::TargetTooLong),
        (HeadValues { authority: b"", ..GET }, Reason::InvalidHost),
        (HeadValues { authority: b"u@a", ..GET }, Reason::InvalidHost),
        (HeadValues { authority: b"a\r\nX: y", ..GET }, Reason::InvalidHost),
    ] {
        assert_eq!(of(&values, &[]).err(), Some(reason), "{values:?}");
    }
    let many: Vec<(&str, &str)> = vec![("x", "y"); 101];
    let large: Vec<(&str, &str)> = vec![("x", &long[..8_000]); 9];
    for (fields, reason) in [
        (&[("Accept", "x")][..], Reason::InvalidFieldName),
        (&[("", "x")], Reason::InvalidFieldName),
        (&[("a b", "x")], Reason::InvalidFieldName),
        (&[("connection", "close")], Reason::InvalidFieldName),
        (&[("transfer-encoding", "chunked")], Reason::InvalidFieldName),
        (&[("upgrade", "websocket")], Reason::InvalidFieldName),
        (&[("a", "x\r\ny: z")], Reason::InvalidFieldValue),
        (&[("a", " x")], Reason::InvalidFieldValue),
        (&[("a", "x\t")], Reason::InvalidFieldValue),
        (&[("te", "gzip")], Reason::InvalidFieldValue),
        (&[("content_length_", "1")], Reason::DisguisedFraming),
        (&[("host", "b.example")], Reason::HostMismatch),
        (&[("expect", "more")], Reason::ExpectationUnknown),
        (&[("content-length", "x")], Reason::InvalidContentLength),
        (&[("content-length", "1")], Reason::InvalidContentLength),
        (&[("content-length", "0"), ("content-length", "0")], Reason::DuplicateContentLength),
        (&[(&long, "x")], Reason::FieldNameTooLong),
        (&[("x", &long)], Reason::FieldTooLarge),
        // One field in all that is not HTTP/2.
        (&[("cookie", &long[..4_100]), ("cookie", &long[..4_090])], Reason::FieldTooLarge),
        (&many, Reason::TooManyFields),
        (&large, Reason::HeadTooLarge),
    ] {
        assert_eq!(of(&GET, fields).err(), Some(reason), "{:?}", fields.first());
    }
    assert!(of(&GET, &[("te", "trailers"), ("content-length", "0")]).is_ok());
    let most = &long[..8_192 - "Cookie: a; ".len()];
    assert!(of(&GET, &[("cookie", "a"), ("cookie", most)]).is_ok());
}

/// RFC 8441 section 4.
#[test]
fn a_head_that_asks_for_a_protocol_is_a_get_with_an_upgrade() {
    let asking = |protocol| HeadValues { follows: StreamContent::Protocol(protocol), ..GET };
    let kept = of(&asking(b"websocket"), &[("sec-websocket-version", "13")]).unwrap();
    let head = kept.request();
    assert_eq!((head.method, head.upgrade), (Method::Get, Some(&b"websocket"[..])));
    assert_eq!((head.framing, head.line()), (Framing::None, &b"GET /a?b HTTP/2.0"[..]));
    // It is a value, not a field of the client, which would be refused.
    assert_eq!(head.fields.all("upgrade").count(), 1);
    assert_eq!(websocket::check(&head), Ok(None));
    assert!(check_values(&kept));
    for (values, fields, reason) in [
        (asking(b""), &[][..], Reason::InvalidFieldValue),
        (asking(b"web socket"), &[], Reason::InvalidFieldValue),
        (asking(b"a,websocket"), &[], Reason::InvalidFieldValue),
        (asking(b"a\r\nx: y"), &[], Reason::InvalidFieldValue),
        (HeadValues { method: Method::Post, ..asking(b"x") }, &[], Reason::MethodNotAllowed),
        (asking(b"x"), &[("upgrade", "y")], Reason::InvalidFieldName),
        (asking(b"x"), &[("content-length", "1")], Reason::InvalidContentLength),
    ] {
        assert_eq!(of(&values, fields).err(), Some(reason), "{values:?}");
    }
    assert_eq!(of(&GET, &[]).unwrap().request().upgrade, None);
    let other = of(&asking(b"x"), &[("sec-websocket-version", "13")]).unwrap();
    assert_eq!(websocket::check(&other.request()), Err(websocket::HandshakeProblem::NotAsked));
}

proptest! {
    #[test]
    fn fields_of_values_come_back_as_they_were(
        fields in prop::collection::vec(("[a-z]{1,9}-x", "[!-~]{0,20}"), 0..20)
    ) {
        let values: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let kept = of(&GET, &values).unwrap();
        let back: Vec<(String, &[u8])> = kept
            .request()
            .fields
            .iter()
            .skip(1)
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        let sent: Vec<(String, &[u8])> =
            fields.iter().map(|(name, value)| (name.clone(), value.as_bytes())).collect();
        prop_assert_eq!(back, sent);
        prop_assert!(check_values(&kept));
    }
}
