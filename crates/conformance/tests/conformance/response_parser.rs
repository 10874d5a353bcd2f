//! Tests of the strict response parser: what it accepts, what it refuses, and that no input makes it panic.

use conformance::{
    ParseResult, ParsedResponse, RequestKind, ResponseViolation, StreamEnd, parse_response,
};

fn parse(bytes: &[u8]) -> Result<ParseResult, ResponseViolation> {
    parse_response(bytes, RequestKind::Other, StreamEnd::Open)
}

fn complete(bytes: &[u8], request: RequestKind, end: StreamEnd) -> (ParsedResponse, usize) {
    match parse_response(bytes, request, end) {
        Ok(ParseResult::Complete(response, used)) => (response, used),
        other => panic!("{other:?} for {}", bytes.escape_ascii()),
    }
}

#[test]
fn a_response_with_length_is_read_to_its_end_and_no_further() {
    let bytes = b"HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1";
    let (response, used) = complete(bytes, RequestKind::Other, StreamEnd::Open);
    assert_eq!(response.status, 200);
    assert_eq!(response.version_minor, 1);
    assert_eq!(response.field("dATE"), Some(&b"now"[..]));
    assert_eq!(response.body, b"hello");
    assert_eq!(&bytes[used..], b"HTTP/1.1");
}

#[test]
fn chunks_are_joined_and_trailers_kept() {
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n\
        3\r\nhel\r\n2;x=\"y\"\r\nlo\r\n0\r\nX-Sum: 5\r\n\r\n";
    let (response, used) = complete(bytes, RequestKind::Other, StreamEnd::Open);
    assert_eq!(response.body, b"hello");
    assert_eq!(response.trailers, [("X-Sum".to_owned(), b"5".to_vec())]);
    assert_eq!(used, bytes.len());
}

#[test]
fn every_cut_is_incomplete_while_the_connection_is_open() {
    let length = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let chunks =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n";
    for whole in [&length[..], &chunks[..]] {
        for cut in 0..whole.len() {
            let outcome = parse(&whole[..cut]);
            assert!(matches!(outcome, Ok(ParseResult::Incomplete)), "cut {cut}: {outcome:?}");
            let outcome = parse_response(&whole[..cut], RequestKind::Other, StreamEnd::Closed);
            assert_eq!(outcome.err(), Some(ResponseViolation::Truncated), "cut {cut}");
        }
        complete(whole, RequestKind::Other, StreamEnd::Open);
    }
}

#[test]
fn content_without_framing_lasts_until_the_close() {
    let bytes = b"HTTP/1.0 200 OK\r\n\r\nall of this";
    assert!(matches!(parse(bytes), Ok(ParseResult::Incomplete)));
    let (response, used) = complete(bytes, RequestKind::Other, StreamEnd::Closed);
    assert_eq!((response.body.as_slice(), used), (&b"all of this"[..], bytes.len()));
}

#[test]
fn some_responses_have_no_content_whatever_they_say() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(complete(head, RequestKind::Head, StreamEnd::Open).1, head.len());
    let unmodified = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(complete(unmodified, RequestKind::Other, StreamEnd::Open).1, unmodified.len());
    let nothing = b"HTTP/1.1 204 No Content\r\n\r\n";
    assert_eq!(complete(nothing, RequestKind::Other, StreamEnd::Open).1, nothing.len());
    let tunnel = b"HTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(complete(tunnel, RequestKind::Connect, StreamEnd::Open).1, tunnel.len());
}

#[test]
fn an_interim_response_is_told_from_a_final_one() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    let (response, used) = complete(bytes, RequestKind::Other, StreamEnd::Open);
    assert!(response.is_interim());
    assert_eq!(used, 25);
    let (upgrade, _) = complete(b"HTTP/1.1 101 Up\r\n\r\n", RequestKind::Other, StreamEnd::Open);
    assert!(!upgrade.is_interim());
}

#[test]
fn malformed_responses_are_refused_with_their_reason() {
    use ResponseViolation as E;
    let many_fields = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(300));
    let long_field = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "b".repeat(70_000));
    let endless_line = format!("HTTP/1.1 200 {}", "b".repeat(70_000));
    let coded = |rest: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{rest}");
    let with = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
    for (bytes, error) in [
        ("line of a file\n".to_owned(), E::LineEnd),
        ("HTTP/1.1 200 OK\nA: b\n\n".to_owned(), E::LineEnd),
        (with("A: b\rc"), E::LineEnd),
        (with("A: b\r"), E::LineEnd),
        ("http/1.1 200 OK\r\n\r\n".to_owned(), E::StatusLine),
        ("HTTP/2.0 200 OK\r\n\r\n".to_owned(), E::StatusLine),
        ("HTTP/1.2 200 OK\r\n\r\n".to_owned(), E::StatusLine),
        ("HTTP/1.1 200\r\n\r\n".to_owned(), E::StatusLine),
        ("HTTP/1.1  200 OK\r\n\r\n".to_owned(), E::StatusLine),
        ("HTTP/1.1 2x0 OK\r\n\r\n".to_owned(), E::StatusLine),
        ("HTTP/1.1 200 O\x01K\r\n\r\n".to_owned(), E::StatusLine),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n".to_owned(), E::StatusLine),
        ("HTTP/1.1 099 No\r\n\r\n".to_owned(), E::StatusRange),
        ("HTTP/1.1 600 No\r\n\r\n".to_owned(), E::StatusRange),
        (with("no colon"), E::FieldLine),
        (with(": no name"), E::FieldLine),
        (with("A : b"), E::FieldLine),
        (with("A: b\r\n folded: c"), E::FieldLine),
        (with("A: b\0c"), E::FieldLine),
        (with("A: b\x7fc"), E::FieldLine),
        (with("Date: a\r\ndate: b"), E::FieldTwice),
        (with("Location: /a\r\nLocation: /b"), E::FieldTwice),
        (with("Content-Length: 1\r\nContent-Length: 1"), E::FieldTwice),
        (with("Content-Length: +1"), E::ContentLength),
        (with("Content-Length: 1, 1"), E::ContentLength),
        (with("Content-Length:"), E::ContentLength),
        (with("Content-Length: 99999999999999999999"), E::ContentLength),
        (with("Content-Length: 99999999"), E::BodySize),
        (with("Content-Length: 1\r\nTransfer-Encoding: chunked"), E::LengthAndCoding),
        (with("Transfer-Encoding: gzip, chunked"), E::TransferCoding),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), E::TransferCoding),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), E::TransferCoding),
        ("HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n".to_owned(), E::FramingForbidden),
        ("HTTP/1.1 100 On\r\nContent-Length: 0\r\n\r\n".to_owned(), E::FramingForbidden),
        (coded("x\r\n"), E::Chunk),
        (coded("\r\n"), E::Chunk),
        (coded("5 \r\nhello\r\n"), E::Chunk),
        (coded("5\nhello\r\n"), E::Chunk),
        (coded("5\r\nhello!\r\n"), E::Chunk),
        (coded("00000000000000005\r\nhello\r\n"), E::Chunk),
        (coded("ffffffffffffffff\r\nhello\r\n"), E::BodySize),
        (coded("0\r\nno colon\r\n\r\n"), E::FieldLine),
        (many_fields, E::FieldCount),
        (long_field, E::HeadSize),
        (endless_line, E::HeadSize),
    ] {
        let outcome = parse(bytes.as_bytes());
        assert_eq!(
            outcome.err(),
            Some(error),
            "{}",
            bytes.escape_debug().take(120).collect::<String>()
        );
    }
}

/// Goal: no byte a server can send makes the parser panic. Method: every one-byte change of two responses.
#[test]
fn no_changed_byte_panics() {
    let length = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    let chunks =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a\r\nabc\r\n0\r\nA: b\r\n\r\n";
    let mut refused = 0;
    for whole in [&length[..], &chunks[..]] {
        for place in 0..whole.len() {
            for byte in 0..=255 {
                let mut bytes = whole.to_vec();
                bytes[place] = byte;
                refused += usize::from(parse(&bytes).is_err());
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
