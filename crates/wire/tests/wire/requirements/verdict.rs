//! The verdict on a request, asserted: accepted, refused with a reason, or not over yet.

use wire::http::head::{FieldSlots, Head, HeadLimits, RequestHead, parse};
use wire::http::refusal::Reason;
use wire::http::url::Scheme;

/// Reads a whole request, hands it over, and gives its length.
#[track_caller]
pub(crate) fn accepted(input: &[u8], look: impl FnOnce(RequestHead<'_, '_>)) -> usize {
    match parse(input, Scheme::Http, &HeadLimits::default(), &mut FieldSlots::new()) {
        Ok(Head::Complete { request, length }) => {
            look(request);
            length
        }
        other => panic!("{}: {other:?}", input.escape_ascii()),
    }
}

#[track_caller]
pub(crate) fn refused(input: &[u8], reason: Reason) {
    refused_within(&HeadLimits::default(), input, reason);
}

#[track_caller]
pub(crate) fn refused_within(limits: &HeadLimits, input: &[u8], reason: Reason) {
    match parse(input, Scheme::Http, limits, &mut FieldSlots::new()) {
        Err(refusal) => assert_eq!(refusal.reason(), reason, "{}", input.escape_ascii()),
        other => panic!("{}: {other:?}", input.escape_ascii()),
    }
}

#[track_caller]
pub(crate) fn partial(input: &[u8]) {
    let mut slots = FieldSlots::new();
    let answer = parse(input, Scheme::Http, &HeadLimits::default(), &mut slots);
    assert!(matches!(answer, Ok(Head::Partial)), "{}: {answer:?}", input.escape_ascii());
}

/// A request line.
#[track_caller]
pub(crate) fn refused_line(line: &str, reason: Reason) {
    refused(format!("{line}\r\nHost: a\r\n\r\n").as_bytes(), reason);
}

/// A field line behind Host.
#[track_caller]
pub(crate) fn refused_field(line: &str, reason: Reason) {
    refused(format!("POST / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n").as_bytes(), reason);
}

/// Field lines behind Host in an accepted request.
#[track_caller]
pub(crate) fn with_fields(line: &str, fields: &str, look: impl FnOnce(RequestHead<'_, '_>)) {
    accepted(format!("{line}\r\nHost: a\r\n{fields}\r\n").as_bytes(), look);
}
