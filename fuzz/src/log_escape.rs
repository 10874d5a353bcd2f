//! Escaping for logs, JSON and HTML: the result has only allowed characters, can be read back, and does not
//! depend on how the text was cut.

use wire::escape::{escape_html, escape_json, escape_log};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/escape"];

/// Texts of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"GET /a HTTP/1.1",
    b"\"quoted\" and \\escaped\\",
    b"line\r\nbreak\ttab\0nul\x1b[31m\x7f",
    b"\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xb4 \xff\xfe \xed\xa0\x80 \xc2\x85 \xc2",
    b"<script>alert('x') & \"y\"</script>",
];

/// Pieces of texts.
pub const WORDS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\x41",
    b"\\u0041",
    b"\n",
    b"\r\n",
    b"\0",
    b"\x1b[2J",
    b"\x7f",
    b"\x80",
    b"\xc2",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xf0\x9f",
    b"&amp;",
    b"&",
    b"<",
    b">",
    b"'",
    b"</script>",
    b"a",
];

/// The bytes that the output held before, which must stay.
const BEFORE: &[u8] = b"before ";

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    assert_log(data);
    assert_json(data);
    assert_html(&String::from_utf8_lossy(data));
}

fn log(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    escape_log(&mut out, data);
    out
}

fn assert_log(data: &[u8]) {
    let text = log(data);
    assert!(text.iter().all(|byte| (0x20..=0x7E).contains(byte) && *byte != b'"'));
    assert_eq!(read_log(&text), data, "a log line is read back");
    let (first, second) = data.split_at(data.len() / 2);
    assert_eq!([log(first), log(second)].concat(), text, "cut in the middle");
    let mut after = BEFORE.to_vec();
    escape_log(&mut after, data);
    assert_eq!(after, [BEFORE, &text].concat());
}

fn read_log(mut text: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some((byte, rest)) = text.split_first() {
        text = rest;
        if *byte != b'\\' {
            data.push(*byte);
            continue;
        }
        let digits = text.strip_prefix(b"x").and_then(|rest| rest.get(..2)).expect("\\xHH");
        let digits = std::str::from_utf8(digits).expect("the alphabet was checked");
        data.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits"));
        text = &text[3..];
    }
    data
}

fn assert_json(data: &[u8]) {
    let mut text = b"\"".to_vec();
    escape_json(&mut text, data);
    text.push(b'"');
    let shown = std::str::from_utf8(&text).expect("JSON is UTF-8");
    assert!(!shown.contains(char::is_control), "a control character in {shown:?}");
    let read: String = serde_json::from_str(shown).expect("a JSON string");
    assert_eq!(read, String::from_utf8_lossy(data), "a JSON string is read back");
}

fn assert_html(text: &str) {
    let mut out = BEFORE.to_vec();
    escape_html(&mut out, text);
    let html = String::from_utf8(out).expect("HTML is UTF-8");
    let html = html.strip_prefix("before ").expect("what was there before stays");
    assert!(!html.contains(['<', '>', '"', '\'']), "{html:?}");
    let mut read = String::new();
    let mut parts = html.split('&');
    read.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once(';').expect("an ampersand begins an entity");
        read.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            other => panic!("&{other}; is none of the five entities"),
        });
        read.push_str(rest);
    }
    assert_eq!(read, text, "HTML is read back");
}
