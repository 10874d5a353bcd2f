//! Which texts are JSON (RFC 8259), held against `serde_json`.

use proptest::prelude::*;
use wire::json::{JsonCheck, JsonProblem, ProblemKind, check, check_around, check_of_page, string};

fn kind(text: &[u8]) -> Option<(ProblemKind, usize)> {
    check(text).err().map(|JsonProblem { kind, at }| (kind, at))
}

#[test]
fn a_value_is_returned_without_the_space_around_it() {
    assert_eq!(
        check(b" \t\r\n{\"a\": [1, -0.5e+3, true, null, \"\\u00e9\"]}\n "),
        Ok("{\"a\": [1, -0.5e+3, true, null, \"\\u00e9\"]}")
    );
    for text in ["null", "0", "-1", "\"\"", "[]", "{}", "[[],{}]", "1e308", "1e-999", "\"\\ud800\""]
    {
        assert_eq!(check(text.as_bytes()), Ok(text));
    }
}

#[test]
fn a_problem_has_its_place() {
    use ProblemKind as Kind;
    let cases: [(&[u8], Kind, usize); 26] = [
        (b"", Kind::NoValue, 1),
        (b"  ", Kind::NoValue, 3),
        (b"{\"a\":\"\xff\"}", Kind::NotUtf8, 7),
        (b"{\"\xff\":1}", Kind::NotUtf8, 3),
        (b"[\"\xed\xa0\x80\"]", Kind::NotUtf8, 3),
        (b"[\"caf\xe9\"]", Kind::NotUtf8, 6),
        (b"\xef\xbb\xbf1", Kind::NoValue, 1),
        (b"1 2", Kind::AfterValue, 3),
        (b"\"a", Kind::OpenString, 3),
        (b"\"a\n\"", Kind::Control, 3),
        (b"\"\\x\"", Kind::Escape, 3),
        (b"\"\\u12g4\"", Kind::Digits, 4),
        (b"{1:2}", Kind::NoName, 2),
        (b"{\"a\":1,}", Kind::NoName, 8),
        (b"{\"a\" 1}", Kind::NoColon, 6),
        (b"[1 2]", Kind::NoArrayEnd, 4),
        (b"{\"a\":1]", Kind::NoObjectEnd, 7),
        (b"[1,]", Kind::NoValue, 4),
        (b"01", Kind::NoValue, 1),
        (b"1.", Kind::NoValue, 1),
        (b".5", Kind::NoValue, 1),
        (b"+1", Kind::NoValue, 1),
        (b"-", Kind::NoValue, 1),
        (b"nul", Kind::NoValue, 1),
        (b"1e999", Kind::LargeNumber, 1),
        (b"[-1e400]", Kind::LargeNumber, 2),
    ];
    for (text, problem, at) in cases {
        assert_eq!(kind(text), Some((problem, at)), "{}", String::from_utf8_lossy(text));
    }
    assert_eq!(check(b"[1e999]").unwrap_err().to_string(), "a number out of range at byte 2");
}

#[test]
fn the_bounds_are_reached_and_not_exceeded() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(check(nested(100).as_bytes()).is_ok());
    assert_eq!(kind(nested(101).as_bytes()), Some((ProblemKind::TooDeep(100), 101)));
    let objects = "{\"a\":".repeat(100) + "1" + &"}".repeat(100);
    assert!(check(objects.as_bytes()).is_ok());
    assert_eq!(
        kind(format!("[{objects}]").as_bytes()).map(|(kind, _)| kind),
        Some(ProblemKind::TooDeep(100))
    );
    assert!(check_of_page(nested(124).as_bytes()).is_ok());
    let problem = check_of_page(nested(125).as_bytes()).unwrap_err();
    assert_eq!(problem.to_string(), "deeper than 124 levels at byte 125");
    assert!(check_around(nested(125).as_bytes(), 1).is_ok());
    assert!(check(("1".to_owned() + "." + &"1".repeat(998)).as_bytes()).is_ok());
    assert_eq!(kind("1".repeat(1_001).as_bytes()), Some((ProblemKind::LongNumber, 1)));
    assert_eq!(kind("9".repeat(400).as_bytes()), Some((ProblemKind::LargeNumber, 1)));
}

#[test]
fn the_content_of_a_string_is_utf8() {
    let cases = [
        (r#""a \"b\" \\ \/ \b\f\n\r\t""#, "a \"b\" \\ / \u{8}\u{c}\n\r\t"),
        (r#""\u00e9 \ud83d\ude00""#, "é 😀"),
        (r#""\ud800 \ude00\ud83d""#, "\u{fffd} \u{fffd}\u{fffd}"),
        (r#""\ud800\u0041""#, "\u{fffd}A"),
        (r#""\ud800\\""#, "\u{fffd}\\"),
        ("\"\"", ""),
    ];
    for (text, content) in cases {
        assert_eq!(string(check(text.as_bytes()).unwrap()), content, "{text}");
    }
}

/// Texts that are JSON, or nearly.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "1", "-", "0", ".", "e", "E", "+", "true",
        "false", "null", " ", "\n", "\\", "\\u0041", "\\ud800", "\u{1}", "é", "1e999", "\u{feff}",
        "12.5e-3",
    ]);
    let valid = any::<u16>().prop_map(|seed| {
        let value =
            serde_json::json!({"a": [seed, "x\n\u{e9}", {"b": null}], "c": f64::from(seed) / 7.0});
        value.to_string().into_bytes()
    });
    let pieces =
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![
        pieces,
        (valid, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut text, at, byte)| {
            let at = at.index(text.len());
            text[at] = byte;
            text
        }),
    ]
}

proptest! {
    #[test]
    fn it_agrees_with_serde_json(text in texts()) {
        // `Value` takes numbers as 64-bit floats, but no surrogate without its partner.
        let has_surrogates = text.windows(3).any(|part| part.eq_ignore_ascii_case(b"\\ud"));
        prop_assume!(!has_surrogates);
        let other = serde_json::from_slice::<serde_json::Value>(&text);
        let checked = check(&text);
        prop_assert_eq!(checked.is_ok(), other.is_ok(), "{} {:?}", String::from_utf8_lossy(&text), checked);
        if let (Ok(text), Ok(serde_json::Value::String(content))) = (checked, other) {
            prop_assert_eq!(string(text), content);
        }
    }
}

/// Checks a text in pieces of this size.
fn check_in_pieces(text: &[u8], size: usize) -> Result<(), JsonProblem> {
    let mut check = JsonCheck::default();
    let mut pieces = 0;
    while !check.go_on(text, size)? {
        pieces += 1;
        assert!(pieces <= text.len(), "it does not end");
    }
    Ok(())
}

/// Pieces of texts, so that there is something to cut everywhere.
const PIECES: [&str; 24] = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    " ",
    "\n",
    "\"a\"",
    "\"",
    "\\",
    "\\u00e9",
    "\\ud83d\\ude00",
    "1",
    "-0.5e3",
    "1e999",
    "true",
    "null",
    "nul",
    "{\"a\":1}",
    "[1, 2]",
    "\"\u{e9}\u{1f600}\"",
    "\u{1f600}",
    "\t",
];

proptest! {
    #[test]
    fn a_text_in_pieces_is_checked_as_a_whole(
        parts in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12), sizes in 1..9_usize,
        broken in prop::option::of((0..40_usize, 128_u8..)),
    ) {
        let mut text = parts.concat().into_bytes();
        if let Some((at, byte)) = broken && let Some(place) = text.get_mut(at) {
            *place = byte;
        }
        let (whole, pieces) = (check(&text).map(drop), check_in_pieces(&text, sizes));
        prop_assert_eq!(whole.is_ok(), pieces.is_ok(), "{:?}", String::from_utf8_lossy(&text));
        // A byte that is not UTF-8 may come after another problem.
        if let (Err(whole), Err(pieces)) = (whole, pieces) && whole.kind != ProblemKind::NotUtf8 {
            prop_assert_eq!(whole, pieces, "{:?}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn a_piece_of_a_long_text_is_short_whatever_the_text_is() {
    let long = |begin: &str, middle: &str, end: &str| [begin, &middle.repeat(5_000), end].concat();
    for text in [
        long("\"", "a", "\""),
        long("", " ", "1"),
        long("1", "\n", ""),
        long("[1", ",1", "]"),
        long("{\"", "a", "\":1}"),
        long("{\"a\"", " ", ":1}"),
        long("[", "{},", "1]"),
    ] {
        let mut check = JsonCheck::default();
        let mut pieces = 1;
        while !check.go_on(text.as_bytes(), 100).unwrap() {
            pieces += 1;
        }
        assert!(pieces >= text.len() / 110, "{pieces} pieces of {}", &text[..9]);
    }
}
