//! Our request-head parser against httparse: nanoseconds for a head.
//!
//!     cargo xtask bench parser
//!
//! builds this in release and runs it pinned to a core. Both parse the same heads in turn, round by round, so that
//! a slow moment of the machine hits both; the figure is the median of the rounds. Each gets its room for fields
//! in the form that costs it least: ours is used again as the server does, httparse's is left uninitialised. Ours
//! applies every strict rule while it parses, httparse knows none: what is compared is less than a strict layer
//! on top of it would cost.
//!
//! Prints a line for each head and parser: head, bytes, parser, median, least and most nanoseconds.
#![expect(clippy::print_stdout, reason = "the figures are what it says")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures time; it has no turns")]

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

use wire::http::head::{FieldSlots, Head, HeadLimits, parse};

/// Rounds of which the median is taken.
const ROUNDS: usize = 41;

/// Heads parsed by each parser in a round.
const HEADS: u32 = 50_000;

/// Room for fields that httparse gets.
const FIELDS: usize = 32;

const MINIMAL: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// What wrk sends.
const WRK: &str = "GET /json HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

/// A browser's twelve fields.
const BROWSER: &str = "GET /articles/2026/page.html?from=front HTTP/1.1\r\n\
    Host: www.example.test\r\n\
    Connection: keep-alive\r\n\
    Cache-Control: max-age=0\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
    Sec-Fetch-Site: same-origin\r\n\
    Sec-Fetch-Mode: navigate\r\n\
    Referer: https://www.example.test/articles/\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n\
    Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n";

/// Parses with ours; the length of the head.
#[inline(never)]
fn ours(input: &[u8], limits: &HeadLimits, slots: &mut FieldSlots) -> usize {
    match parse(input, limits, slots) {
        Ok(Head::Complete { request, length }) => {
            black_box(&request);
            length
        }
        Ok(Head::Partial) | Err(_) => 0,
    }
}

/// Parses with httparse; the length of the head.
#[inline(never)]
fn theirs(input: &[u8]) -> usize {
    let mut fields = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; FIELDS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(input, &mut fields) {
        Ok(httparse::Status::Complete(length)) => {
            black_box(&request);
            length
        }
        Ok(httparse::Status::Partial) | Err(_) => 0,
    }
}

/// Nanoseconds of one parse in a round of many.
fn time(mut parse: impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    for _ in 0..HEADS {
        black_box(parse());
    }
    start.elapsed().as_nanos() as f64 / f64::from(HEADS)
}

fn main() {
    let limits = HeadLimits::default();
    let mut slots = FieldSlots::new();
    for (name, head) in [("minimal", MINIMAL), ("wrk", WRK), ("browser", BROWSER)] {
        let input = head.as_bytes();
        assert_eq!(ours(input, &limits, &mut slots), input.len(), "ours reads {name}");
        assert_eq!(theirs(input), input.len(), "httparse reads {name}");
        let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_ours.push(time(|| ours(black_box(input), black_box(&limits), &mut slots)));
            of_theirs.push(time(|| theirs(black_box(input))));
        }
        for (parser, mut rounds) in [("ours", of_ours), ("httparse", of_theirs)] {
            rounds.sort_by(f64::total_cmp);
            let (least, median, most) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
            println!("{name} {} {parser} {median:.1} {least:.1} {most:.1}", input.len());
        }
    }
}
