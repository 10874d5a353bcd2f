//! The output of the escapers can stand in a log line, in JSON and in HTML, whatever went in.

use proptest::prelude::*;
use wire::escape::{escape_html, escape_json, escape_log};

fn log(raw: &[u8]) -> String {
    let mut out = Vec::new();
    escape_log(&mut out, raw);
    String::from_utf8(out).unwrap()
}

fn json(raw: &[u8]) -> String {
    let mut out = Vec::new();
    escape_json(&mut out, raw);
    String::from_utf8(out).unwrap()
}

fn html(text: &str) -> String {
    let mut out = Vec::new();
    escape_html(&mut out, text);
    String::from_utf8(out).unwrap()
}

/// Decodes the output of `escape_log`.
fn unescape_log(text: &str) -> Vec<u8> {
    let mut raw = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            raw.push(byte);
            continue;
        }
        assert_eq!(rest[0], b'x');
        let digits = std::str::from_utf8(&rest[1..3]).unwrap();
        raw.push(u8::from_str_radix(digits, 16).unwrap());
        rest = &rest[3..];
    }
    raw
}

#[test]
fn log_keeps_printable_ascii() {
    assert_eq!(log(b"GET /a?b=c~ HTTP/1.1"), "GET /a?b=c~ HTTP/1.1");
    assert_eq!(log(b""), "");
}

#[test]
fn log_escapes_quote_backslash_controls_and_high_bytes() {
    assert_eq!(log(b"\"\\\n\r\t\0\x1b\x1f\x7f"), r"\x22\x5c\x0a\x0d\x09\x00\x1b\x1f\x7f");
    assert_eq!(log(b"a\x80b\xc3\xa9\xff"), r"a\x80b\xc3\xa9\xff");
    assert_eq!(log(b"\x20\x7e"), "\x20\x7e");
}

#[test]
fn log_line_cannot_be_forged() {
    assert_eq!(log(b"x\" 200\n127.0.0.1 - - \"GET"), r"x\x22 200\x0a127.0.0.1 - - \x22GET");
}

#[test]
fn json_escapes_by_rfc_8259_section_7() {
    assert_eq!(json(b"\"\\/"), r#"\"\\/"#);
    assert_eq!(json(b"\n\r\t\0\x08\x1b\x1f"), r"\n\r\t\u0000\u0008\u001b\u001f");
}

#[test]
fn json_escapes_what_a_terminal_obeys() {
    assert_eq!(json(b"\x7f"), r"\u007f");
    assert_eq!(json("\u{80}\u{9b}\u{9f}".as_bytes()), r"\u0080\u009b\u009f");
    assert_eq!(json("\u{a0}\u{bf}©é".as_bytes()), "\u{a0}\u{bf}©é");
}

#[test]
fn json_replaces_each_maximal_invalid_part() {
    assert_eq!(json(b"a\xffb"), "a\u{FFFD}b");
    assert_eq!(json(b"\xc3"), "\u{FFFD}");
    assert_eq!(json(b"\xc2"), "\u{FFFD}");
    assert_eq!(json(b"\xf0\x9f\x98"), "\u{FFFD}");
    assert_eq!(json("日本".as_bytes()), "日本");
    // An overlong slash and a surrogate: no byte of them is the start of a character.
    assert_eq!(json(b"\xc0\xaf"), "\u{FFFD}\u{FFFD}");
    assert_eq!(json(b"\xed\xa0\x80"), "\u{FFFD}\u{FFFD}\u{FFFD}");
}

#[test]
fn html_escapes_the_five() {
    assert_eq!(
        html("<a href='x'>\"&\"</a>"),
        "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;"
    );
    assert_eq!(html("plain é\n"), "plain é\n");
}

#[test]
fn escapers_append() {
    let mut out = b"[".to_vec();
    escape_log(&mut out, b"\n");
    escape_json(&mut out, b"\n");
    escape_html(&mut out, "<");
    assert_eq!(out, b"[\\x0a\\n&lt;");
}

fn text_with_specials() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), r#"[&<>"'a\\\n\u{80}-\u{9f}]{0,40}"#]
}

fn bytes_with_specials() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        text_with_specials().prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn log_is_printable_and_can_be_read_back(raw in bytes_with_specials()) {
        let escaped = log(&raw);
        prop_assert!(escaped.bytes().all(|byte| (0x20..0x7F).contains(&byte) && byte != b'"'));
        prop_assert_eq!(unescape_log(&escaped), raw);
    }

    #[test]
    fn json_parses_and_means_the_lossy_text(raw in bytes_with_specials()) {
        let escaped = json(&raw);
        prop_assert!(!escaped.chars().any(char::is_control));
        let parsed: String = serde_json::from_str(&format!("\"{escaped}\"")).unwrap();
        prop_assert_eq!(parsed, String::from_utf8_lossy(&raw));
    }

    #[test]
    fn html_has_no_markup_and_can_be_read_back(text in text_with_specials()) {
        let escaped = html(&text);
        prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
        let back = escaped
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&");
        prop_assert_eq!(back, text);
    }
}
