//! Request heads that come as values, and head blocks of answers.
//!
//! Owns what must hold of both: values that are accepted are a request that the parser of text accepts as well, with
//! the same fields, and a block says the same whatever follows it.

use http::HeadBlock;
use wire::http::head::{self, FieldSlots, Head, HeadLimits};
use wire::http::kept::{HeadValues, KeptHead, StreamContent};
use wire::http::method::Method;
use wire::http::url::Scheme;

/// The code that it runs.
pub const COVERS: &[&str] =
    &["crates/wire/src/http/kept", "crates/wire/src/http/fields", "crates/http/src/encoder/block"];

/// Example inputs: method, target and authority in a line, then a field in each line.
pub const SEEDS: &[&[u8]] = &[
    b"GET /a?b a.example\naccept: x/y\ncookie: a=b\ncookie: c",
    b"OPTIONS * a.example:80\nhost: A.example\nte: trailers",
    b"POST / [::1]\ncontent-length: 7\nexpect: 100-continue\nx:",
    b"\0\0\0\x0f\0\xc8\0\x04\0\0\0\x03etag\"1\"the body",
];

/// Words worth inserting.
pub const WORDS: &[&[u8]] = &[
    b"\ncontent-length: 3",
    b"\nexpect: 100-continue",
    b"\nhost: a.example",
    b"\ntransfer-encoding: chunked",
    b"\nupgrade: x",
    b"\nte: gzip",
    b": ",
    b"\r\n",
    b"\0\0\0\x02\0\xc8",
];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    check_block(data);
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut words = lines.next().unwrap_or_default().split(|byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let known = Method::ALL.into_iter().find(|known| known.as_str().as_bytes() == method);
    let fields: Vec<(&str, &[u8])> = lines.filter_map(field).collect();
    let values = HeadValues {
        method: known.unwrap_or(Method::Get),
        scheme: Scheme::Http,
        target: words.next().unwrap_or_default(),
        authority: words.next().unwrap_or_default(),
        follows: match data.len() % 4 {
            0 | 2 => StreamContent::Body,
            1 => StreamContent::None,
            _ => StreamContent::Protocol(fields.first().map_or(&b"x"[..], |(_, value)| *value)),
        },
    };
    let limits = HeadLimits::default();
    let Ok(kept) = KeptHead::of_values(&values, fields.iter().copied(), &limits) else { return };
    let request = kept.request();
    let again = KeptHead::of(&request);
    assert_eq!(format!("{:?}", again.request()), format!("{request:?}"));
    assert_eq!(request.host, Some(values.authority));

    let mut text = format!("{} ", values.method.as_str()).into_bytes();
    text.extend_from_slice(values.target);
    text.extend_from_slice(b" HTTP/1.1\r\n");
    text.extend_from_slice(request.fields.lines());
    text.extend_from_slice(b"\r\n");
    let mut slots = FieldSlots::new();
    match head::parse(&text, Scheme::Http, &HeadLimits { head_size: 65_535, ..limits }, &mut slots)
    {
        Ok(Head::Complete { request: parsed, .. }) => {
            assert_eq!(parsed.split_target(), request.split_target());
            assert!(parsed.fields.iter().eq(request.fields.iter()));
            assert_eq!(parsed.host, request.host);
        }
        other => panic!("{other:?} for {}", text.escape_ascii()),
    }
}

fn field(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let value = line.get(colon + 1..)?;
    Some((std::str::from_utf8(&line[..colon]).ok()?, value.strip_prefix(b" ").unwrap_or(value)))
}

fn check_block(data: &[u8]) {
    let Some((block, rest)) = HeadBlock::split(data) else { return };
    let whole = &data[..data.len() - rest.len()];
    let (alone, nothing) = HeadBlock::split(whole).expect("it was whole");
    assert!(nothing.is_empty() && alone.status() == block.status());
    assert!(alone.fields().eq(block.fields()));
    assert!(HeadBlock::split(&whole[..whole.len() - 1]).is_none(), "a part of a block");
}
