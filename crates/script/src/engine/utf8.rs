//! Texts that leave as text: whether they are UTF-8, and how JSON has them.
//!
//! Owns these two questions. Never replaces anything.

/// How JSON has a text (RFC 8259 section 7). The numbers are those of json.lua.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// As it is.
    Plain = 0,
    /// With escapes.
    Escaped = 1,
    /// Not at all.
    NotUtf8 = 2,
}

/// How JSON has this text. `<` is escaped, because the text may stand in a script element of a page.
pub(super) fn text_kind(text: &[u8]) -> TextKind {
    let (mut special, mut all) = (false, 0);
    for byte in text {
        special |= matches!(byte, ..0x20 | b'"' | b'\\' | b'<');
        all |= byte;
    }
    if all >= 0x80 && simdutf8::basic::from_utf8(text).is_err() {
        return TextKind::NotUtf8;
    }
    if special { TextKind::Escaped } else { TextKind::Plain }
}

/// How many bytes from the start are UTF-8.
pub(super) fn valid_length(text: &[u8]) -> usize {
    simdutf8::compat::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_plain_or_escaped_or_refused() {
        for text in ["", "a b", "é 😀", "\u{7f}"] {
            assert_eq!(text_kind(text.as_bytes()), TextKind::Plain, "{text}");
        }
        for text in ["a\"", "\\", "a\n", "</script>", "\0", "é<"] {
            assert_eq!(text_kind(text.as_bytes()), TextKind::Escaped, "{text}");
        }
        for text in
            [&b"\xff"[..], b"caf\xe9", b"\xed\xa0\x80", b"\xc0\x80", b"\"\xc3", b"\xf4\x90\x80\x80"]
        {
            assert_eq!(text_kind(text), TextKind::NotUtf8, "{text:?}");
            assert!(valid_length(text) < text.len());
        }
        assert_eq!((valid_length(b"caf\xe9 x"), valid_length("é".as_bytes())), (3, 2));
    }
}
