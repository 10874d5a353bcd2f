//! Owns how received and sent bytes are printed: escaped, in one line, with a limit. Never changes what is compared.

use crate::limits::QUOTE_BYTES_MAX;

/// The bytes as text without control or high bytes; the middle of a long text is replaced by its length.
pub(crate) fn quote(bytes: &[u8]) -> String {
    if bytes.len() <= QUOTE_BYTES_MAX {
        return escape(bytes);
    }
    let half = QUOTE_BYTES_MAX / 2;
    let left_out = bytes.len() - 2 * half;
    let (head, tail) = (&bytes[..half], &bytes[bytes.len() - half..]);
    format!("{}[... {left_out} bytes ...]{}", escape(head), escape(tail))
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'\r' => text.push_str("\\r"),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\x{other:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_high_bytes_are_escaped() {
        assert_eq!(quote(b"a\r\n\0\xff\\"), "a\\r\\n\\x00\\xff\\\\");
    }

    #[test]
    fn a_long_conversation_is_cut_in_the_middle() {
        let text = quote(&[b'a'; QUOTE_BYTES_MAX + 100]);
        assert!(text.contains("[... 100 bytes ...]"), "{text}");
        assert!(text.len() < QUOTE_BYTES_MAX + 40);
    }
}
