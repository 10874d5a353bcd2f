//! Goal: a client knows where every response ends, and what cannot be read is named. Method: responses good and
//! hostile, written by hand, each read whole and cut after every byte.

use crate::answers::{End, Outcome, read_in_pieces, read_whole};
use wire::http::method::Method;
use wire::http::received::{ResponseError, ResponsePart, ResponseProblem};
use wire::http::refusal::Reason;
use wire::limits;

/// The outcome for a server that closes after the input, wherever the input is cut.
fn outcome(method: Method, input: &[u8]) -> Outcome {
    let whole = read_whole(method, input);
    for cut in 0..=input.len() {
        let (front, back) = input.split_at(cut);
        assert_eq!(read_in_pieces(method, &[front, back]), whole, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read_in_pieces(method, &bytes), whole, "byte by byte");
    whole
}

#[track_caller]
fn over(method: Method, input: &str, status: u16, body: &str) -> Outcome {
    let outcome = outcome(method, format!("{input}HTTP/1.1 2").as_bytes());
    assert_eq!((outcome.status, outcome.end), (Some(status), End::Over), "{input:?}");
    assert_eq!(String::from_utf8_lossy(&outcome.body), body, "{input:?}");
    assert_eq!(outcome.consumed, input.len(), "{input:?}");
    outcome
}

#[track_caller]
fn refused(input: &str, problem: impl Into<ResponseProblem>, part: ResponsePart) {
    let expected = End::Failed(ResponseError { problem: problem.into(), part });
    assert_eq!(outcome(Method::Get, input.as_bytes()).end, expected, "{input:?}");
}

const OK: &str = "HTTP/1.1 200 OK\r\n";

#[test]
fn a_counted_body_ends_after_its_length() {
    assert!(over(Method::Get, &format!("{OK}Content-Length: 3\r\n\r\nabc"), 200, "abc").persistent);
    over(Method::Get, &format!("{OK}content-length:\t3 \r\nDate: x\r\n\r\nabc"), 200, "abc");
    over(Method::Post, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "");
    // RFC 9112, 6.3: equal values count as one.
    over(
        Method::Get,
        &format!("{OK}Content-Length: 3\r\nContent-Length: 03\r\n\r\nabc"),
        200,
        "abc",
    );
    over(Method::Get, &format!("{OK}Content-Length: 3, 3 ,3\r\n\r\nabc"), 200, "abc");
}

#[test]
fn status_lines_are_read_as_they_occur() {
    for line in ["HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 200 \t\u{e9}", "HTTP/1.9 200 OK"] {
        over(Method::Get, &format!("{line}\r\nContent-Length: 1\r\n\r\na"), 200, "a");
    }
    over(Method::Get, "HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n", 999, "");
}

#[test]
fn chunks_are_put_together() {
    let head = format!("{OK}Transfer-Encoding: CHUNKED\r\n\r\n");
    assert!(over(Method::Get, &format!("{head}3\r\nabc\r\n0\r\n\r\n"), 200, "abc").persistent);
    over(
        Method::Get,
        &format!("{head}1;x=y\r\na\r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\n"),
        200,
        "a0123456789",
    );
    over(Method::Get, &format!("{head}0\r\n\r\n"), 200, "");
}

#[test]
fn some_answers_have_no_content_whatever_they_say() {
    let fields = "Content-Length: 5\r\n\r\n";
    over(Method::Head, &format!("{OK}Content-Length: 5\r\n\r\n"), 200, "");
    over(Method::Head, &format!("{OK}\r\n"), 200, "");
    over(Method::Get, &format!("HTTP/1.1 204 No Content\r\n{fields}"), 204, "");
    over(Method::Get, &format!("HTTP/1.1 304 Not Modified\r\n{fields}"), 304, "");
}

#[test]
fn a_connection_ends_with_an_answer_without_content_that_announces_some() {
    // RFC 9110, 8.6; RFC 9112, 6.1. A 304 may say what a 200 would have.
    for (status, fields, stays) in [
        (204, "", true),
        (204, "Content-Length: 0\r\n", true),
        (204, "Content-Length: 5\r\n", false),
        (204, "Transfer-Encoding: chunked\r\n", false),
        (304, "Content-Length: 5\r\n", true),
        (304, "Transfer-Encoding: chunked\r\n", true),
    ] {
        for method in [Method::Get, Method::Head] {
            let outcome = over(method, &format!("HTTP/1.1 {status} X\r\n{fields}\r\n"), status, "");
            assert_eq!(outcome.persistent, stays, "{status} {fields:?} {method:?}");
        }
    }
}

#[test]
fn interim_answers_are_counted_and_passed_over() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\nLink: \
                   x\r\n\r\n";
    let outcome = over(Method::Get, &format!("{interim}{OK}Content-Length: 1\r\n\r\na"), 200, "a");
    assert_eq!(outcome.interim, 2);
    refused(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        ResponseProblem::UnaskedUpgrade,
        ResponsePart::StatusLine,
    );
    let many = "HTTP/1.1 100 Continue\r\n\r\n".repeat(usize::from(limits::RESPONSE_INTERIM_COUNT));
    over(Method::Get, &format!("{many}{OK}Content-Length: 0\r\n\r\n"), 200, "");
    refused(
        &format!("{many}HTTP/1.1 102 More\r\n\r\n"),
        ResponseProblem::TooManyInterim,
        ResponsePart::StatusLine,
    );
}

#[test]
fn a_body_without_a_length_lasts_until_the_close() {
    let read =
        outcome(Method::Get, format!("{OK}Connection: keep-alive\r\n\r\nabc\r\n").as_bytes());
    assert_eq!((read.end, read.body, read.persistent), (End::Over, b"abc\r\n".to_vec(), false));
}

#[test]
fn the_connection_stays_where_both_sides_say_so() {
    let stays = |version: &str, fields: &str| {
        let input = format!("HTTP/{version} 200 OK\r\n{fields}Content-Length: 0\r\n\r\n");
        over(Method::Get, &input, 200, "").persistent
    };
    assert!(stays("1.1", ""));
    assert!(!stays("1.1", "Connection: close\r\n"));
    assert!(!stays("1.1", "connection: Upgrade , CLOSE\r\nConnection: keep-alive\r\n"));
    assert!(stays("1.1", "Connection: closed\r\n"));
    assert!(!stays("1.0", ""));
    assert!(stays("1.0", "Connection: Keep-Alive\r\n"));
}

#[test]
fn two_framings_are_refused() {
    let (length, chunked) = ("Content-Length: 99\r\n", "Transfer-Encoding: chunked\r\n");
    for fields in [format!("{length}{chunked}"), format!("{chunked}{length}")] {
        let both = format!("{OK}{fields}\r\n1\r\na\r\n0\r\n\r\n");
        refused(&both, Reason::LengthAndCoding, ResponsePart::Field(2));
    }
    refused(
        &format!("{OK}{chunked}{chunked}\r\n"),
        Reason::InvalidTransferEncoding,
        ResponsePart::Field(2),
    );
}

#[test]
fn lengths_that_readers_understand_differently_are_refused() {
    for value in [
        "-1",
        "+1",
        "1 1",
        "0x1",
        "1.0",
        "",
        "1,",
        ",1",
        "99999999999999999999",
        "9223372036854775809",
    ] {
        let input = format!("{OK}Content-Length: {value}\r\n\r\n");
        refused(&input, Reason::InvalidContentLength, ResponsePart::Field(1));
    }
    let two = format!("{OK}Content-Length: 1\r\nX: y\r\nContent-Length: 2\r\n\r\n");
    refused(&two, ResponseProblem::DifferentLengths, ResponsePart::Field(3));
    refused(
        &format!("{OK}Content-Length: 1, 2\r\n\r\n"),
        ResponseProblem::DifferentLengths,
        ResponsePart::Field(1),
    );
}

#[test]
fn codings_that_were_not_asked_for_are_refused() {
    let refused_coding = |version: &str, value: &str, reason| {
        let input = format!("HTTP/{version} 200 OK\r\nTransfer-Encoding: {value}\r\n\r\n");
        refused(&input, reason, ResponsePart::Field(1));
    };
    refused_coding("1.1", "gzip, chunked", Reason::CodingUnknown);
    refused_coding("1.1", "identity", Reason::CodingUnknown);
    refused_coding("1.1", "chunked, chunked", Reason::InvalidTransferEncoding);
    refused_coding("1.1", "", Reason::InvalidTransferEncoding);
    refused_coding("1.1", "chunked;q=1", Reason::InvalidTransferEncoding);
    refused_coding("1.0", "chunked", Reason::CodingInHttp10);
}

#[test]
fn garbage_is_known_by_its_first_bytes() {
    for input in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "<html>",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n",
        "\0",
    ] {
        refused(input, ResponseProblem::NotHttp, ResponsePart::StatusLine);
    }
    for input in ["HTTP/1,1", "HTTP/x", "HTTP/11.1", "HTTP/1.1\t200 OK\r\n", "HTTP/1.1\r\n"] {
        refused(input, Reason::InvalidVersion, ResponsePart::StatusLine);
    }
    refused("HTTP/2.0 200 OK\r\n", Reason::VersionNotSupported, ResponsePart::StatusLine);
    for status in ["20 OK", "2000", "abc", "099", "000", "-12", " 200", "200\tOK", "200-"] {
        refused(
            &format!("HTTP/1.1 {status}\r\n\r\n"),
            ResponseProblem::InvalidStatus,
            ResponsePart::StatusLine,
        );
    }
    refused("HTTP/1.1 200 \u{1}\r\n", Reason::InvalidFieldValue, ResponsePart::StatusLine);
}

#[test]
fn lines_obey_the_rules_of_all_messages() {
    let cases = [
        ("X\r\n", Reason::FieldWithoutColon),
        ("X \r\n", Reason::BlankInFieldName),
        ("Content-Length : 1\r\n", Reason::BlankInFieldName),
        (": x\r\n", Reason::EmptyFieldName),
        ("X(: y\r\n", Reason::InvalidFieldName),
        (" folded\0\r\n", Reason::InvalidFieldValue),
        ("\tfolded\n", Reason::BareLineFeed),
        ("X: a\0b\r\n", Reason::InvalidFieldValue),
        ("X: a\n", Reason::BareLineFeed),
        ("X: a\rb", Reason::BareCarriageReturn),
        ("\n", Reason::BareLineFeed),
        ("\rX", Reason::BareCarriageReturn),
        ("Date: Sat, 21 Nov 2026 12:00:00 GM\0\r\n", Reason::InvalidFieldValue),
        ("Content-Length: 1\n", Reason::BareLineFeed),
        ("Server: a\0\r\n", Reason::InvalidFieldValue),
    ];
    for (line, reason) in cases {
        refused(&format!("{OK}A: b\r\n{line}"), reason, ResponsePart::Field(2));
    }
    refused(&format!("{OK} A: b\r\n"), Reason::BlankBeforeFirstField, ResponsePart::Field(1));
    refused("HTTP/1.1 200 OK\nA: b\r\n", Reason::BareLineFeed, ResponsePart::StatusLine);
}

#[test]
fn a_folded_line_continues_the_value_before_it() {
    // RFC 9112, 5.2.
    for (fields, length, persistent) in [
        ("X-Note: a\r\n b\r\nContent-Length: 2\r\n", 2, true),
        ("Content-Length: 2\r\nX-Note: a\r\n\tContent-Length: 9\r\n  more\r\n", 2, true),
        ("Content-Length:\r\n 2\r\n", 2, true),
        ("Content-Length: 2\r\n \r\n\t \r\n", 2, true),
        ("Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n x\r\nContent-Length: 2\r\n", 2, true),
        ("Server: a\r\n b\r\nConnection: keep-alive,\r\n close\r\nContent-Length: 2\r\n", 2, false),
        ("Transfer-Encoding:\r\n chunked\r\n", 0, true),
    ] {
        let body = if length == 0 { "0\r\n\r\n" } else { "ok" };
        let input = format!("{OK}{fields}\r\n{body}");
        for size in [1, 2, 3, input.len()] {
            let pieces: Vec<&[u8]> = input.as_bytes().chunks(size).collect();
            let outcome = read_in_pieces(Method::Get, &pieces);
            assert_eq!(outcome.end, End::Over, "{fields:?} {size}");
            assert_eq!(
                (outcome.body.len(), outcome.persistent),
                (length, persistent),
                "{fields:?}"
            );
        }
    }
    let length = Reason::InvalidContentLength;
    refused(&format!("{OK}Content-Length: 2\r\n 3\r\n\r\n"), length, ResponsePart::Field(1));
    let coding = Reason::CodingUnknown;
    refused(
        &format!("{OK}Transfer-Encoding: chunked,\r\n gzip\r\n\r\n"),
        coding,
        ResponsePart::Field(1),
    );
}

#[test]
fn broken_chunks_are_refused() {
    let head = format!("{OK}Transfer-Encoding: chunked\r\n\r\n");
    let cases = [
        ("-1\r\n", Reason::InvalidChunkSize),
        ("x", Reason::InvalidChunkSize),
        ("1\r\nab\r\n", Reason::InvalidChunkEnd),
        ("00000000000000001", Reason::ChunkSizeTooLong),
        ("ffffffffffffffff\r\n", Reason::BodyTooLarge),
        ("0\r\nX\r\n", Reason::FieldWithoutColon),
    ];
    for (body, reason) in cases {
        // The sum of both sizes overflows.
        let body = if reason == Reason::BodyTooLarge {
            format!("1\r\na\r\n{body}")
        } else {
            body.to_owned()
        };
        refused(&format!("{head}{body}"), reason, ResponsePart::Body);
    }
    let extension = "x".repeat(limits::RESPONSE_CHUNK_EXTENSION_SIZE as usize);
    let outcome = read_whole(Method::Get, format!("{head}0;{extension}").as_bytes());
    let expected = ResponseProblem::Rule(Reason::ChunkExtensionsTooLarge);
    assert_eq!(
        outcome.end,
        End::Failed(ResponseError { problem: expected, part: ResponsePart::Body })
    );
    let trailer = "y".repeat(limits::RESPONSE_TRAILER_SIZE as usize);
    let outcome = read_whole(Method::Get, format!("{head}0\r\nX: {trailer}").as_bytes());
    let expected = ResponseProblem::Rule(Reason::TrailersTooLarge);
    assert_eq!(
        outcome.end,
        End::Failed(ResponseError { problem: expected, part: ResponsePart::Body })
    );
}

#[test]
fn half_answers_are_told_from_none() {
    refused("", ResponseProblem::ClosedBefore, ResponsePart::StatusLine);
    refused("H", ResponseProblem::ClosedWithin, ResponsePart::StatusLine);
    refused(
        "HTTP/1.1 100 Continue\r\n\r\n",
        ResponseProblem::ClosedWithin,
        ResponsePart::StatusLine,
    );
    refused(OK, ResponseProblem::ClosedWithin, ResponsePart::Field(1));
    refused(&format!("{OK}X: y\r\nZ"), ResponseProblem::ClosedWithin, ResponsePart::Field(2));
    refused(&format!("{OK}X: y\r\n\r"), ResponseProblem::ClosedWithin, ResponsePart::Field(2));
    refused(
        &format!("{OK}Content-Length: 3\r\n\r\nab"),
        ResponseProblem::ClosedWithin,
        ResponsePart::Body,
    );
    let chunked = format!("{OK}Transfer-Encoding: chunked\r\n\r\n");
    refused(&chunked, ResponseProblem::ClosedWithin, ResponsePart::Body);
    refused(
        &format!("{chunked}1\r\na\r\n0\r\n"),
        ResponseProblem::ClosedWithin,
        ResponsePart::Body,
    );
}

#[test]
fn an_endless_head_ends() {
    let bound = usize::from(limits::RESPONSE_HEAD_SIZE);
    let too_large = |part| {
        End::Failed(ResponseError { problem: ResponseProblem::Rule(Reason::HeadTooLarge), part })
    };
    // A line without an end, a status line without an end, and endless lines.
    let long = format!("{OK}X: {}", "y".repeat(bound));
    let reason = format!("HTTP/1.1 200 {}", "y".repeat(bound));
    let name = format!("{OK}{}", "y".repeat(bound));
    for (input, part) in [
        (long, ResponsePart::Field(1)),
        (reason, ResponsePart::StatusLine),
        (name, ResponsePart::Field(1)),
    ] {
        assert_eq!(read_whole(Method::Get, input.as_bytes()).end, too_large(part));
        let pieces: Vec<&[u8]> = input.as_bytes().chunks(1009).collect();
        assert_eq!(read_in_pieces(Method::Get, &pieces).end, too_large(part));
    }
    let lines = format!("{OK}{}", format!("X: {}\r\n", "y".repeat(997)).repeat(66));
    let whole = read_whole(Method::Get, lines.as_bytes()).end;
    assert_eq!(whole, too_large(ResponsePart::Field(66)));
    let pieces: Vec<&[u8]> = lines.as_bytes().chunks(1009).collect();
    assert_eq!(read_in_pieces(Method::Get, &pieces).end, whole);
}

#[test]
fn a_head_of_exactly_the_bound_is_read() {
    let bound = usize::from(limits::RESPONSE_HEAD_SIZE);
    let begin = format!("{OK}Content-Length: 0\r\nX: ");
    let input = format!("{begin}{}\r\n\r\n", "y".repeat(bound - begin.len() - 4));
    assert_eq!(input.len(), bound);
    assert_eq!(read_whole(Method::Get, input.as_bytes()).end, End::Over);
    let longer = input.replacen("X: ", "X:  ", 1);
    assert!(matches!(read_whole(Method::Get, longer.as_bytes()).end, End::Failed(_)));
}

#[test]
fn fields_are_counted() {
    let most = usize::from(limits::RESPONSE_FIELD_COUNT);
    for line in ["A: b\r\n", "Server: b\r\n", "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n"] {
        let lines = line.repeat(most);
        over(Method::Head, &format!("{OK}{lines}\r\n"), 200, "");
        let part = ResponsePart::Field(limits::RESPONSE_FIELD_COUNT as u16 + 1);
        refused(&format!("{OK}{lines}{line}"), Reason::TooManyFields, part);
    }
}

#[test]
fn an_error_says_what_and_where() {
    let read = outcome(Method::Get, format!("{OK}A: b\r\nContent-Length: x\r\n\r\n").as_bytes());
    let End::Failed(error) = read.end else { panic!("{read:?}") };
    let text = "Content-Length is not a number of at most 2^63 (field line 2)";
    assert_eq!(error.to_string(), text);
}
