//! Escaping of text for HTML and XML, which take the same.
//!
//! Owns which bytes are replaced by what. Never changes anything else: text is bytes here, in whatever encoding.

use memchr::{memchr2, memchr3};

/// How many bytes at the start need no replacement.
fn clean_length(text: &[u8]) -> usize {
    if text.len() < 32 {
        return text.iter().position(|byte| replacement(*byte).is_some()).unwrap_or(text.len());
    }
    let marks = memchr3(b'&', b'<', b'>', text).unwrap_or(text.len());
    memchr2(b'"', b'\'', &text[..marks]).unwrap_or(marks)
}

fn replacement(byte: u8) -> Option<&'static [u8]> {
    match byte {
        b'&' => Some(b"&amp;"),
        b'<' => Some(b"&lt;"),
        b'>' => Some(b"&gt;"),
        b'"' => Some(b"&quot;"),
        // The name &apos; came to HTML late; the number is understood everywhere.
        b'\'' => Some(b"&#39;"),
        _ => None,
    }
}

/// How many bytes `text` has with its replacements.
pub(super) fn escaped_length(text: &[u8]) -> usize {
    let clean = clean_length(text);
    let grown = |byte: &u8| replacement(*byte).map_or(1, <[u8]>::len);
    clean + text[clean..].iter().map(grown).sum::<usize>()
}

/// Writes `text` with its replacements to `place`, which has exactly the [`escaped_length`].
pub(super) fn write(text: &[u8], place: &mut [u8]) {
    let mut written = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let clean = clean_length(rest);
        place[written..written + clean].copy_from_slice(&rest[..clean]);
        written += clean;
        let Some(byte) = rest.get(clean) else { break };
        let name = replacement(*byte).unwrap_or_default();
        place[written..written + name.len()].copy_from_slice(name);
        written += name.len();
        rest = &rest[clean + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &[u8]) -> Vec<u8> {
        let mut place = vec![0; escaped_length(text)];
        write(text, &mut place);
        place
    }

    #[test]
    fn the_five_are_replaced_and_nothing_else() {
        assert_eq!(
            escaped(b"<a href=\"x\">'&'</a>"),
            b"&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;"
        );
        let others: Vec<u8> = (0..=255).filter(|byte| !b"&<>\"'".contains(byte)).collect();
        assert_eq!(escaped(&others), others);
        assert_eq!(escaped(b""), b"");
    }

    #[test]
    fn long_and_short_texts_are_scanned_alike() {
        for length in 0..100 {
            for mark in *b"&<>\"'" {
                let mut text = vec![b'x'; length];
                text.push(mark);
                text.extend_from_slice(b"tail<");
                assert_eq!(clean_length(&text), length);
                text.truncate(length);
                assert_eq!(clean_length(&text), length);
            }
        }
    }
}
