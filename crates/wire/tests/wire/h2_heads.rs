//! Heads of HTTP/2: pseudo-fields, which broken rule ends a stream and which is answered, trailers, responses.

use wire::h2::{
    AfterHead, H2ResponseHead, MalformedResponse, RequestFields, ResponseFields, TrailerFields,
    UnusableHead,
};
use wire::http::head::{Framing, HeadLimits, RequestTarget};
use wire::http::kept::KeptHead;
use wire::http::method::Method;
use wire::http::refusal::Reason;
use wire::http::url::Scheme;

type Pairs<'v> = &'v [(&'v str, &'v str)];

fn read(after: AfterHead, pairs: Pairs<'_>) -> Result<KeptHead, UnusableHead> {
    let mut fields = RequestFields::new();
    // Whatever was there before leaves nothing.
    fields.begin(Scheme::Http, AfterHead::Content, HeadLimits::default());
    for (name, value) in [(":method", "PUT"), (":path", "/before"), ("cookie", "before"), ("X", "")]
    {
        fields.note(name.as_bytes(), value.as_bytes());
    }
    fields.begin(Scheme::Https, after, HeadLimits::default());
    for (name, value) in pairs {
        fields.note(name.as_bytes(), value.as_bytes());
    }
    fields.finish()
}

fn get(pairs: Pairs<'_>) -> Result<KeptHead, UnusableHead> {
    read(AfterHead::Nothing, pairs)
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":path", "/a?b"), (":authority", "a.example")];

fn with<'v>(more: Pairs<'v>) -> Vec<(&'v str, &'v str)> {
    [&GET[..], more].concat()
}

fn malformed(reason: Reason) -> Option<UnusableHead> {
    Some(UnusableHead::Malformed(reason))
}

#[test]
fn a_request_is_what_its_fields_say() {
    let kept = get(&with(&[("accept", "x/y"), ("x-b", "")])).unwrap();
    let head = kept.request();
    assert_eq!((head.method, head.scheme), (Method::Get, Scheme::Https));
    assert_eq!(head.target, RequestTarget::Origin(b"/a?b"));
    assert_eq!(head.split_target(), (&b"/a"[..], Some(&b"b"[..])));
    assert_eq!((head.host, head.framing), (Some(&b"a.example"[..]), Framing::None));
    let fields: Vec<_> = head.fields.iter().collect();
    assert_eq!(fields, [("Host", &b"a.example"[..]), ("Accept", b"x/y"), ("X-B", b"")]);
    assert_eq!(head.line(), b"GET /a?b HTTP/2.0");

    let mut any_order = GET;
    any_order.reverse();
    assert_eq!(get(&any_order).unwrap().request().host, Some(&b"a.example"[..]));

    let post = [(":method", "POST"), GET[1], GET[2], GET[3], ("content-length", "7")];
    let kept = read(AfterHead::Content, &post).unwrap();
    assert_eq!((kept.request().method, kept.request().framing), (Method::Post, Framing::Length(7)));
    let options = [(":method", "OPTIONS"), GET[1], (":path", "*"), GET[3]];
    assert_eq!(get(&options).unwrap().request().target, RequestTarget::Asterisk);
}

/// RFC 9113, 8.3.1.
#[test]
fn host_is_the_authority_if_there_is_no_other() {
    let kept = get(&[GET[0], GET[1], GET[2], ("accept", "*/*"), ("host", "b.example")]).unwrap();
    assert_eq!(kept.request().host, Some(&b"b.example"[..]));
    assert_eq!(kept.request().fields.all("host").count(), 1);
    let missing = get(&GET[..3]);
    assert_eq!(missing.err(), Some(UnusableHead::Refused(Reason::MissingHost.into())));
    assert!(get(&with(&[("host", "A.example:443")])).is_ok());
    let other = get(&with(&[("host", "b.example")])).err();
    assert_eq!(other, malformed(Reason::HostMismatch));
    let twice = [GET[0], GET[1], GET[2], ("host", "b.example"), ("host", "c.example")];
    assert_eq!(get(&twice).err(), malformed(Reason::HostMismatch));
}

/// RFC 9113, 8.3 and 8.3.1.
#[test]
fn pseudo_fields_come_once_and_first_and_all_of_them() {
    for missing in 0..3 {
        let mut fields = GET.to_vec();
        fields.remove(missing);
        assert_eq!(get(&fields).err(), malformed(Reason::PseudoFieldMissing), "{missing}");
    }
    for (more, reason) in [
        ((":method", "GET"), Reason::PseudoFieldDuplicate),
        ((":path", "/"), Reason::PseudoFieldDuplicate),
        ((":authority", "b.example"), Reason::PseudoFieldDuplicate),
        ((":status", "200"), Reason::PseudoFieldUnknown),
        ((":", ""), Reason::PseudoFieldUnknown),
        ((":protocol", "websocket"), Reason::PseudoFieldUnknown),
    ] {
        assert_eq!(get(&with(&[more])).err(), malformed(reason), "{more:?}");
    }
    let late = [GET[0], GET[1], GET[2], ("accept", "*/*"), GET[3]];
    assert_eq!(get(&late).err(), malformed(Reason::PseudoFieldLate));
    assert_eq!(get(&[]).err(), malformed(Reason::PseudoFieldMissing));
}

/// RFC 9113, 8.3.1: a proxy that ends TLS keeps the scheme of its client.
#[test]
fn a_secure_scheme_over_plain_text_says_nothing() {
    for (scheme, is_taken) in [("https", true), ("HTTP", true), ("ftp", false)] {
        let mut fields = RequestFields::new();
        fields.begin(Scheme::Http, AfterHead::Nothing, HeadLimits::default());
        for (name, value) in [GET[0], (":scheme", scheme), GET[2], GET[3]] {
            fields.note(name.as_bytes(), value.as_bytes());
        }
        let scheme_of = fields.finish().map(|kept| kept.request().scheme);
        assert_eq!(scheme_of.ok(), is_taken.then_some(Scheme::Http), "{scheme}");
    }
}

/// RFC 9113, 8.1.1: malformed, or answered.
#[test]
fn a_value_that_cannot_be_ends_the_stream_or_is_answered() {
    let refused = |reason: Reason| Some(UnusableHead::Refused(reason.into()));
    let long = "/".repeat(9_000);
    for (at, value, expected) in [
        (0, "", malformed(Reason::InvalidMethod)),
        (0, "G T", malformed(Reason::InvalidMethod)),
        (0, "GET\r\n", malformed(Reason::InvalidFieldValue)),
        (0, "BREW", refused(Reason::MethodUnknown)),
        (0, "TRACE", refused(Reason::MethodNotAllowed)),
        (0, "get", refused(Reason::MethodUnknown)),
        (1, "http", refused(Reason::PlainTarget)),
        (1, "gopher", refused(Reason::InvalidTargetForm)),
        (2, "", malformed(Reason::MissingTarget)),
        (2, "*", refused(Reason::InvalidTargetForm)),
        (2, "a", refused(Reason::InvalidTargetForm)),
        (2, "/a b", refused(Reason::InvalidTarget)),
        (2, "/a#b", refused(Reason::FragmentInTarget)),
        (2, "/a\r\nX: y", malformed(Reason::InvalidFieldValue)),
        (2, "/a\0", malformed(Reason::InvalidFieldValue)),
        (2, &long, refused(Reason::TargetTooLong)),
        (3, "", refused(Reason::InvalidHost)),
        (3, "u@a.example", refused(Reason::InvalidHost)),
        (3, "a.example\n", malformed(Reason::InvalidFieldValue)),
    ] {
        let mut fields = GET;
        fields[at].1 = value;
        assert_eq!(get(&fields).err(), expected, "{value}");
    }
}

/// RFC 9113, 8.2.
#[test]
fn fields_that_cannot_be_end_the_stream_or_are_answered() {
    let long = "x".repeat(9_000);
    let refused = |reason: Reason| Some(UnusableHead::Refused(reason.into()));
    for (name, value, expected) in [
        ("", "a", malformed(Reason::InvalidFieldName)),
        ("Accept", "a", malformed(Reason::InvalidFieldName)),
        ("a b", "a", malformed(Reason::InvalidFieldName)),
        ("a:b", "a", malformed(Reason::InvalidFieldName)),
        ("a\u{e9}", "a", malformed(Reason::InvalidFieldName)),
        ("a", "b\r\nc: d", malformed(Reason::InvalidFieldValue)),
        ("a", "b\0", malformed(Reason::InvalidFieldValue)),
        ("a", " b", malformed(Reason::InvalidFieldValue)),
        ("a", "b\t", malformed(Reason::InvalidFieldValue)),
        ("cookie", "b\n", malformed(Reason::InvalidFieldValue)),
        ("connection", "close", malformed(Reason::InvalidFieldName)),
        ("keep-alive", "1", malformed(Reason::InvalidFieldName)),
        ("proxy-connection", "close", malformed(Reason::InvalidFieldName)),
        ("transfer-encoding", "chunked", malformed(Reason::InvalidFieldName)),
        ("upgrade", "websocket", malformed(Reason::InvalidFieldName)),
        ("te", "gzip", malformed(Reason::InvalidFieldValue)),
        ("content-length", "1", malformed(Reason::InvalidContentLength)),
        ("content-length", "a", malformed(Reason::InvalidContentLength)),
        ("content_length", "1", refused(Reason::DisguisedFraming)),
        ("expect", "200-ok", refused(Reason::ExpectationUnknown)),
        ("a", &long, refused(Reason::FieldTooLarge)),
        (&long[..300], "a", refused(Reason::FieldNameTooLong)),
    ] {
        assert_eq!(get(&with(&[(name, value)])).err(), expected, "{name}: {value}");
    }
    assert!(get(&with(&[("te", "trailers"), ("content-length", "0")])).is_ok());
    let mut fields = RequestFields::new();
    fields.begin(Scheme::Https, AfterHead::Nothing, HeadLimits::default());
    GET.iter().for_each(|(name, value)| fields.note(name.as_bytes(), value.as_bytes()));
    fields.note(b"a\xff", b"b");
    assert_eq!(fields.finish().err(), malformed(Reason::InvalidFieldName));
    assert_eq!(fields.line(), b"GET /a?b HTTP/2.0");
}

/// RFC 9113, 8.2.3.
#[test]
fn crumbs_of_a_cookie_become_one_and_each_counts() {
    let crumbs = [("cookie", "a=b"), ("accept", "x"), ("cookie", "c=d"), ("cookie", "e")];
    let kept = get(&with(&crumbs)).unwrap();
    let fields = kept.request().fields;
    assert_eq!(fields.all("cookie").collect::<Vec<_>>(), [b"a=b; c=d; e"]);
    let many = vec![("cookie", "a"); 99];
    assert!(get(&with(&many)).is_ok());
    let many = vec![("cookie", "a"); 100];
    let refused = Some(UnusableHead::Refused(Reason::TooManyFields.into()));
    assert_eq!(get(&with(&many)).err(), refused);
    // The bomb of June 2026 (CVE-2026-49975): a large crumb, again and again for one byte each.
    let large = "x".repeat(4_000);
    let refused = Some(UnusableHead::Refused(Reason::FieldTooLarge.into()));
    assert_eq!(get(&with(&[("cookie", &large[..]); 90])).err(), refused);
}

/// RFC 9113, 6.5.2: each field counts 32 bytes more.
#[test]
fn a_list_of_fields_has_a_size() {
    let own: usize = GET.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
    let value = "x".repeat(4_000);
    let rest = "y".repeat(16_384 - own - 3 * (1 + value.len() + 32) - (1 + 32));
    let three = [("a", &value[..]), ("b", &value), ("c", &value)];
    assert!(get(&[&with(&three)[..], &[("d", &rest)]].concat()).is_ok());
    let refused = Some(UnusableHead::Refused(Reason::HeadTooLarge.into()));
    assert_eq!(get(&[&with(&three)[..], &[("de", &rest)]].concat()).err(), refused);
}

/// RFC 8441, 4, and RFC 9113, 8.5.
#[test]
fn connect_asks_for_a_protocol_or_for_a_tunnel() {
    let asking = [(":method", "CONNECT"), (":protocol", "websocket"), GET[1], GET[2], GET[3]];
    let kept = read(AfterHead::Content, &asking).unwrap();
    let head = kept.request();
    assert_eq!((head.method, head.upgrade), (Method::Get, Some(&b"websocket"[..])));
    assert_eq!(head.framing, Framing::None);
    assert_eq!(get(&asking[..4]).err(), malformed(Reason::PseudoFieldMissing));
    let tunnel = [(":method", "CONNECT"), (":authority", "a.example:80")];
    let refused = Some(UnusableHead::Refused(Reason::MethodNotAllowed.into()));
    assert_eq!(get(&tunnel).err(), refused);
    let with_path = [tunnel[0], tunnel[1], GET[2]];
    assert_eq!(get(&with_path).err(), malformed(Reason::PseudoFieldMissing));
    let wrong = [asking[0], (":protocol", "web socket"), GET[1], GET[2], GET[3]];
    assert_eq!(get(&wrong).err(), malformed(Reason::InvalidFieldValue));
}

#[test]
fn trailers_have_no_pseudo_fields() {
    let read = |pairs: Pairs<'_>| {
        let mut trailers = TrailerFields::within(100, 8 * 1024);
        let pairs = pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let passed = pairs.filter(|(name, value)| trailers.note(name, value).is_some()).count();
        (passed, trailers.finish())
    };
    assert_eq!(read(&[("grpc-status", "0"), ("x", "")]), (2, Ok(())));
    assert_eq!(read(&[("a", "b"), (":status", "200"), ("c", "d")]).1, Err(Reason::PseudoFieldLate));
    assert_eq!(read(&[("a", "b"), ("C", "d"), ("e", "f")]), (1, Err(Reason::InvalidFieldName)));
    assert_eq!(read(&[("te", " a")]), (0, Err(Reason::InvalidFieldValue)));
    assert_eq!(read(&[("a", "b"); 101]), (100, Err(Reason::TooManyFields)));
    let large = "x".repeat(5_000);
    assert_eq!(read(&[("a", &large[..]); 2]), (1, Err(Reason::TrailersTooLarge)));
}

/// RFC 9113, 8.3.2 and 8.6.
#[test]
fn a_response_has_a_status() {
    let read = |pairs: Pairs<'_>| {
        let mut fields = ResponseFields::new();
        for (name, value) in pairs {
            fields.note(name.as_bytes(), value.as_bytes());
        }
        fields.finish()
    };
    let ok = (":status", "200");
    let whole = read(&[ok, ("content-length", "12"), ("server", "x"), ("content-length", "12")]);
    assert_eq!(whole, Ok(H2ResponseHead { status: 200, length: Some(12) }));
    assert_eq!(read(&[("a", "b")]), Err(MalformedResponse::NoStatus));
    assert_eq!(read(&[(":status", "101")]), Err(MalformedResponse::SwitchingProtocols));
    for wrong in ["", "20", "2000", "2x0", "099", "-10"] {
        assert_eq!(read(&[(":status", wrong)]), Err(MalformedResponse::Status), "{wrong}");
    }
    for (pairs, reason) in [
        (&[ok, ok][..], Reason::PseudoFieldDuplicate),
        (&[("a", "b"), ok], Reason::PseudoFieldLate),
        (&[ok, (":path", "/")], Reason::PseudoFieldUnknown),
        (&[ok, ("A", "b")], Reason::InvalidFieldName),
        (&[ok, ("connection", "close")], Reason::InvalidFieldName),
        (&[ok, ("a", "b\n")], Reason::InvalidFieldValue),
        (&[ok, ("content-length", "x")], Reason::InvalidContentLength),
        (&[ok, ("content-length", "1"), ("content-length", "2")], Reason::DuplicateContentLength),
    ] {
        assert_eq!(read(pairs), Err(MalformedResponse::Field(reason)), "{pairs:?}");
    }
}
