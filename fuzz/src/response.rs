//! Responses as a client reads them: any cut gives the same result, an accepted response obeys the limits, and a
//! lenient parser sees every head end in the same place.

use wire::http::method::Method;
use wire::http::received::{AfterStep, ResponseError, ResponseReader};
use wire::limits;

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/received"];

/// Responses of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Length: 5\r\n\r\nhelloHTTP",
    b"HTTP/1.1 200 OK\r\nServer: s\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    b"HTTP/1.0 404\r\nConnection: keep-alive\r\nContent-Type: text/plain\r\n\r\nuntil the end",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\nHTTP/1.1 500 No\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
];

/// Pieces of responses, good and bad.
pub const WORDS: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 S\r\n\r\n",
    b"HTTP/1.1 204\r\n",
    b"HTTP/1.1 304 \r\n",
    b"HTTP/2 200\r\n",
    b"Content-Length: 5\r\n",
    b"content-length: 5\r\n",
    b"Content-Length: -5\r\n",
    b"Content-Length: 5, 5\r\n",
    b"Content-Length: 18446744073709551616\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n",
    b"Server: s\r\n",
    b"Content-Type: t\r\n",
    b"A: b\r\n",
    b" folded\r\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b": ",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"hello",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    b"\0",
];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    for method in [Method::Get, Method::Head] {
        let whole = read(method, &[data]);
        assert!(whole.interim <= limits::RESPONSE_INTERIM_COUNT);
        assert!(whole.body.len() + whole.consumed <= 2 * data.len());
        if method == Method::Head {
            assert!(whole.body.is_empty(), "content behind an answer to HEAD");
            assert_lenient_agrees(data, &whole);
        }
        for position in cutting::positions(data.len()) {
            let (first, second) = data.split_at(position);
            assert_eq!(read(method, &[first, second]), whole, "cut at {position}");
        }
        let bytes: Vec<&[u8]> = data.chunks(1).collect();
        assert_eq!(read(method, &bytes), whole, "byte by byte");
    }
}

/// The result of a connection that ends after the input.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    status: Option<u16>,
    interim: u8,
    persistent: bool,
    body: Vec<u8>,
    /// Zero after a failure: how far it got depends on the cut.
    consumed: usize,
    end: Result<(), ResponseError>,
}

fn read(method: Method, pieces: &[&[u8]]) -> Outcome {
    let mut reader = ResponseReader::new(method);
    let (mut body, mut consumed) = (Vec::new(), 0);
    let end = follow(&mut reader, pieces, &mut body, &mut consumed);
    Outcome {
        status: reader.status(),
        interim: reader.interim(),
        persistent: reader.is_persistent(),
        body,
        consumed: if end.is_ok() { consumed } else { 0 },
        end,
    }
}

fn follow(
    reader: &mut ResponseReader,
    pieces: &[&[u8]],
    body: &mut Vec<u8>,
    consumed: &mut usize,
) -> Result<(), ResponseError> {
    let mut held = Vec::new();
    for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            let step = reader.read(&held)?;
            assert!(held[..step.consumed].ends_with(step.body));
            body.extend_from_slice(step.body);
            let (taken, then) = (step.consumed, step.then);
            held.drain(..taken);
            *consumed += taken;
            match then {
                AfterStep::Finish => return Ok(()),
                AfterStep::Wait => break,
                AfterStep::ReadRest => assert!(!held.is_empty() && taken > 0, "no way on"),
            }
        }
    }
    reader.close(held.len())
}

/// Checks that httparse sees the end of the head where an answer to HEAD ends, with the same status.
fn assert_lenient_agrees(data: &[u8], outcome: &Outcome) {
    if outcome.end.is_err() || outcome.interim > 0 {
        return;
    }
    let mut headers = [httparse::EMPTY_HEADER; limits::RESPONSE_FIELD_COUNT as usize];
    let mut lenient = httparse::Response::new(&mut headers);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    match config.parse_response(&mut lenient, data) {
        Ok(status) => assert_eq!(status, httparse::Status::Complete(outcome.consumed)),
        // RFC 9110 section 2.5: a later minor version is treated as a known one; not by httparse.
        Err(httparse::Error::Version) => return,
        Err(error) => panic!("a lenient parser refuses what we take: {error}"),
    }
    assert_eq!(lenient.code, outcome.status);
}
