//! JSON: what is taken is what `serde_json` takes within our limits, and the content of a string is the same.

use wire::json::{ProblemKind, check as check_json, string};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/json"];

/// Values of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"{\"a\": [1, -0.5e+3, true, null, \"\\u00e9\\n\"]}",
    b" [[], {}, [{\"\": false}]] ",
    b"\"\\ud83d\\ude00 \\/\"",
    b"[1e999, 01, .5, 1.]",
];

/// Pieces of values.
pub const WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\u",
    b"\\ud83d",
    b"null",
    b"true",
    b"false",
    b"1e308",
    b"1e309",
    b"-",
    b"0.",
    b"\xff",
    b"\xed\xa0\x80",
];

/// Compares with `serde_json`, which is more generous in one thing (levels) and stricter in another (surrogates).
pub fn check(data: &[u8]) {
    let other = serde_json::from_slice::<serde_json::Value>(data);
    match check_json(data) {
        Ok(text) => {
            if data.windows(3).any(|part| part.eq_ignore_ascii_case(b"\\ud")) {
                return;
            }
            let other = other.unwrap_or_else(|error| panic!("we take {text:?}: {error}"));
            if let serde_json::Value::String(content) = other {
                assert_eq!(string(text), content);
            }
        }
        Err(problem) => {
            assert!(problem.at <= data.len() + 1);
            let is_ours = matches!(problem.kind, ProblemKind::TooDeep(_) | ProblemKind::LongNumber);
            assert!(is_ours || other.is_err(), "we refuse it: {problem}");
        }
    }
}
