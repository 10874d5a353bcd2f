//! Precondition fields: the outcome follows the order of RFC 9110 section 13.2.2, whatever the fields
//! contain.
//!
//! The first byte of an input picks method and representation, the rest are field lines.

use wire::http::conditional::{
    Precondition, Preconditions, RangeUse, SafeMethod, Validators, evaluate,
};
use wire::http::date;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/conditional"];

/// Fields of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"\x00if-none-match: \"tag\"",
    b"\x01If-Match: W/\"tag\", \"other\"\nIf-None-Match: *",
    b"\x02if-match: *\nif-unmodified-since: Sun, 06 Nov 1994 08:49:37 GMT",
    b"\x04if-modified-since: Sunday, 06-Nov-94 08:49:37 GMT",
    b"\x04range: bytes=0-1\nif-range: \"tag\"",
    b"\x04range: bytes=0-1\nif-range: Sun Nov  6 08:49:37 1994",
    b"\x03if-none-match: \"a\nif-none-match: \"tag\"\nif-none-match: x\nif-none-match: y\nif-none-match: z",
];

/// Pieces of fields.
pub const WORDS: &[&[u8]] = &[
    b"if-match: ",
    b"if-none-match: ",
    b"if-modified-since: ",
    b"if-unmodified-since: ",
    b"if-range: ",
    b"range: ",
    b"\n",
    b"*",
    b"\"tag\"",
    b"W/\"tag\"",
    b"w/\"tag\"",
    b"\"",
    b"\"\"",
    b",",
    b", ",
    b" ",
    b"Sun, 06 Nov 1994 08:49:37 GMT",
    b"Mon, 06 Nov 1994 08:49:37 GMT",
    b"Sun Nov  6 08:49:37 1994",
    b"Fri, 31 Dec 9999 23:59:59 GMT",
    b"Thu, 01 Jan 1970 00:00:00 GMT",
    b"bytes=0-1",
];

/// 1994-11-06 08:49:37, the day of the RFC's examples.
const MODIFIED: u64 = 784_111_777;

const PRESENT: Validators<'_> = Validators { etag: b"\"tag\"", last_modified: MODIFIED };

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let Some((picked, text)) = data.split_first() else { return };
    let method =
        [SafeMethod::Get, SafeMethod::Head, SafeMethod::Other][usize::from(picked & 3).min(2)];
    let validators = (picked & 4 != 0).then_some(&PRESENT);
    let now = MODIFIED + u64::from(*picked);
    let fields: Vec<(&[u8], &[u8])> = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
        .collect();
    let preconditions = note(&fields);
    let outcome = evaluate(method, &preconditions, validators, now);
    assert_outcome(outcome, method, &preconditions, validators);
    let shouted: Vec<Vec<u8>> = fields.iter().map(|(name, _)| name.to_ascii_uppercase()).collect();
    let again: Vec<(&[u8], &[u8])> =
        shouted.iter().zip(&fields).map(|(name, (_, value))| (name.as_slice(), *value)).collect();
    assert_eq!(outcome, evaluate(method, &note(&again), validators, now), "the case of a name");
    assert_dates(text);
}

fn note<'a>(fields: &[(&[u8], &'a [u8])]) -> Preconditions<'a> {
    let mut preconditions = Preconditions::default();
    for (name, value) in fields {
        preconditions.note(name, value);
    }
    preconditions
}

fn assert_outcome(
    outcome: Precondition,
    method: SafeMethod,
    preconditions: &Preconditions<'_>,
    validators: Option<&Validators<'_>>,
) {
    let no_match = preconditions.if_match.is_absent();
    let no_none_match = preconditions.if_none_match.is_absent();
    let no_dates =
        preconditions.if_modified_since.is_none() && preconditions.if_unmodified_since.is_none();
    if !no_match && validators.is_none() {
        assert_eq!(outcome, Precondition::Failed, "If-Match without a representation");
    }
    if no_match && no_none_match && no_dates {
        assert!(matches!(outcome, Precondition::Proceed { .. }), "failed without a precondition");
    }
    match outcome {
        Precondition::NotModified => {
            assert_ne!(method, SafeMethod::Other, "304 is for GET and HEAD");
            assert!(validators.is_some() && !(no_none_match && no_dates));
        }
        Precondition::Failed if method != SafeMethod::Other => {
            assert!(!no_match || preconditions.if_unmodified_since.is_some());
        }
        Precondition::Proceed { use_range: RangeUse::Apply } => {
            assert_eq!(method, SafeMethod::Get, "ranges are for GET");
            assert!(preconditions.range.is_some() && validators.is_some());
        }
        Precondition::Failed | Precondition::Proceed { use_range: RangeUse::Ignore } => {}
    }
}

/// A parsed date is written so that it is parsed the same.
fn assert_dates(text: &[u8]) {
    for line in text.split(|byte| *byte == b'\n') {
        let value = line.splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default().trim_ascii();
        if let Some(seconds) = date::parse(value) {
            assert_eq!(date::parse(&date::format(seconds)), Some(seconds));
        }
    }
}
