//! Our reading of a response: nanoseconds for a whole one, next to httparse reading only the head.
//!
//!     cargo xtask bench parser
//!
//! builds this in release and runs it pinned to a core, as it does with `parse_heads`. Both read the same
//! responses in turn, round by round; the figure is the median of the rounds. httparse gets its room for fields
//! uninitialised, and does not look for Content-Length: what is compared is less than a client built on it pays.
//!
//! Prints a line for each response and reader: response, bytes, reader, median, least and most nanoseconds.
#![expect(clippy::print_stdout, reason = "the figures are what it says")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures time; it has no turns")]

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

use wire::http::method::Method;
use wire::http::received::{ResponseReader, Then};

/// Rounds of which the median is taken.
const ROUNDS: usize = 41;

/// Responses read by each reader in a round.
const RESPONSES: u32 = 50_000;

/// Room for fields that httparse gets.
const FIELDS: usize = 32;

/// What a server says that says little.
const SMALL: &str = "HTTP/1.1 200 OK\r\n\
    Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: text/plain\r\n\
    Content-Length: 13\r\n\r\nHello, world!";

/// The 135 bytes of a usual answer to a benchmark.
const PLAIN: &str = "HTTP/1.1 200 OK\r\n\
    Server: velodrome\r\n\
    Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: text/plain\r\n\
    Content-Length: 15\r\n\r\nHello, world!\r\n";

/// What nginx says of a file.
const FILE: &str = "HTTP/1.1 200 OK\r\n\
    Server: nginx/1.22.1\r\n\
    Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: text/html\r\n\
    Content-Length: 21\r\n\
    Last-Modified: Tue, 05 Jan 2021 08:34:56 GMT\r\n\
    Connection: keep-alive\r\n\
    ETag: \"5ff424f0-15\"\r\n\
    Accept-Ranges: bytes\r\n\r\n<p>Hello, world!</p>\n";

/// Small chunks, as a page is sent that is made while it is sent.
const CHUNKED: &str = "HTTP/1.1 200 OK\r\n\
    Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: text/plain\r\n\
    Transfer-Encoding: chunked\r\n\r\nd\r\nHello, world!\r\n0\r\n\r\n";

/// Reads a whole response with ours; its length.
#[inline(never)]
fn ours(input: &[u8]) -> usize {
    let mut reader = ResponseReader::new(Method::Get);
    let mut at = 0;
    loop {
        let Ok(step) = reader.read(&input[at..]) else { return 0 };
        black_box(step.body);
        at += step.consumed;
        match step.then {
            Then::Finish => return at,
            Then::ReadRest => {}
            Then::Wait => return 0,
        }
    }
}

/// Reads the head with httparse; the length of the response, if it has a head.
#[inline(never)]
fn theirs(input: &[u8]) -> usize {
    let mut fields = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut response, input, &mut fields) {
        Ok(httparse::Status::Complete(_)) => {
            black_box(&response);
            input.len()
        }
        Ok(httparse::Status::Partial) | Err(_) => 0,
    }
}

/// Nanoseconds of one reading in a round of many.
fn time(mut read: impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    for _ in 0..RESPONSES {
        black_box(read());
    }
    start.elapsed().as_nanos() as f64 / f64::from(RESPONSES)
}

fn main() {
    for (name, response) in
        [("small", SMALL), ("plain", PLAIN), ("file", FILE), ("chunked", CHUNKED)]
    {
        let input = response.as_bytes();
        assert_eq!(ours(input), input.len(), "ours reads {name}");
        assert_eq!(theirs(input), input.len(), "httparse reads {name}");
        let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_ours.push(time(|| ours(black_box(input))));
            of_theirs.push(time(|| theirs(black_box(input))));
        }
        for (reader, mut rounds) in [("ours", of_ours), ("httparse", of_theirs)] {
            rounds.sort_by(f64::total_cmp);
            let (least, median, most) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
            println!("{name} {} {reader} {median:.1} {least:.1} {most:.1}", input.len());
        }
    }
}
