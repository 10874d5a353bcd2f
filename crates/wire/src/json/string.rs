//! The content of a string in JSON.
//!
//! Owns the escapes. Never checks: the text was accepted before.

/// The content of a text that [`check`](super::check) has accepted and that begins with a quotation mark. An escaped
/// surrogate without its partner becomes U+FFFD, because no UTF-8 stands for it (RFC 8259 section 8.2).
pub fn string(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
    let mut content = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        content.push_str(&rest[..at]);
        let (character, used) = escaped(&rest.as_bytes()[at..]);
        content.push(character);
        rest = rest.get(at + used..).unwrap_or_default();
    }
    content.push_str(rest);
    content
}

/// The character of the escape with which these bytes begin, and how many bytes it takes.
fn escaped(text: &[u8]) -> (char, usize) {
    let plain = match text.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(text),
        Some(other) => char::from(*other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (plain, 2)
}

fn unicode(text: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(first) = unit(0) else { return (char::REPLACEMENT_CHARACTER, 2) };
    let pair = [first, unit(6).unwrap_or_default()];
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => (character, 6 * character.len_utf16()),
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}
