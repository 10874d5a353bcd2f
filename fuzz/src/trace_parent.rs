//! `traceparent`: what is read is written as it was, except for what a newer version says.

use wire::http::trace_context::TraceParent;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/trace_context"];

/// Values.
pub const SEEDS: &[&[u8]] = &[
    b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    b"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
];

/// Pieces of values.
pub const WORDS: &[&[u8]] = &[b"-", b"00", b"ff", b"0000000000000000", b"A", b"01-"];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let Some(parent) = TraceParent::parse(data) else { return };
    assert!(parent.trace.0 != 0 && parent.span.0 != 0);
    let written = parent.to_string();
    assert_eq!(&written.as_bytes()[2..53], &data[2..53]);
    assert_eq!(TraceParent::parse(written.as_bytes()), Some(parent));
    assert!(data.len() == written.len() || data[..2] != *b"00");
}
