//! Escaping of text for HTML and XML, which need the same.
//!
//! Owns which bytes are replaced by what. Never changes anything else: text is bytes here, in any
//! encoding.

use std::slice;

use memchr::{memchr2, memchr3};

/// Texts up to this length are checked byte by byte, because a search costs more.
const SHORT: usize = 32;

/// The positions of the next bytes that must be replaced. Each of the two searches continues when writing has reached
/// its result, so that no byte is searched twice by the same search.
struct Next {
    mark: usize,
    quote: usize,
}

impl Next {
    fn of(text: &[u8]) -> Self {
        Self { mark: next_mark(text, 0), quote: next_quote(text, 0) }
    }

    fn place(&self) -> usize {
        self.mark.min(self.quote)
    }

    /// Continues after the last position found.
    fn advance(&mut self, text: &[u8]) {
        if self.mark < self.quote {
            self.mark = next_mark(text, self.mark + 1);
        } else {
            self.quote = next_quote(text, self.quote + 1);
        }
    }
}

fn next_mark(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    memchr3(b'&', b'<', b'>', rest).map_or(text.len(), |at| start + at)
}

fn next_quote(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    memchr2(b'"', b'\'', rest).map_or(text.len(), |at| start + at)
}

/// The number of bytes at the start that need no replacement.
fn clean_length(text: &[u8]) -> usize {
    if text.len() < SHORT {
        return text.iter().position(|byte| replacement(*byte).is_some()).unwrap_or(text.len());
    }
    let marks = next_mark(text, 0);
    next_quote(text.get(..marks).unwrap_or(text), 0)
}

fn replacement(byte: u8) -> Option<&'static [u8]> {
    match byte {
        b'&' => Some(b"&amp;"),
        b'<' => Some(b"&lt;"),
        b'>' => Some(b"&gt;"),
        b'"' => Some(b"&quot;"),
        // The name &apos; was added to HTML late; the number is understood everywhere.
        b'\'' => Some(b"&#39;"),
        _ => None,
    }
}

/// The length of `text` with its replacements.
pub(super) fn escaped_length(text: &[u8]) -> usize {
    let clean = clean_length(text);
    let grown = |byte: &u8| replacement(*byte).map_or(1, <[u8]>::len);
    clean + text.iter().skip(clean).map(grown).sum::<usize>()
}

/// Writes `text` with its replacements to the start of `place`, which must have at least [`escaped_length`] bytes, and
/// returns the length. In a smaller place the rest is left out, because this is called from native code, through which
/// a panic must not unwind.
pub(super) fn write(text: &[u8], place: &mut [u8]) -> usize {
    let mut writer = Writer { place, written: 0 };
    if text.len() < SHORT {
        for byte in text {
            writer.put(replacement(*byte).unwrap_or(slice::from_ref(byte)));
        }
        return writer.written;
    }
    let (mut next, mut done) = (Next::of(text), 0);
    while next.place() < text.len() {
        let at = next.place();
        writer.put(text.get(done..at).unwrap_or_default());
        writer.put(text.get(at).and_then(|byte| replacement(*byte)).unwrap_or_default());
        done = at + 1;
        next.advance(text);
    }
    writer.put(text.get(done..).unwrap_or_default());
    writer.written
}

/// A buffer that is filled from its start.
struct Writer<'place> {
    place: &'place mut [u8],
    written: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.written + bytes.len();
        if let Some(place) = self.place.get_mut(self.written..end) {
            place.copy_from_slice(bytes);
            self.written = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &[u8]) -> Vec<u8> {
        let mut place = vec![0; escaped_length(text)];
        assert_eq!(write(text, &mut place), place.len());
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
    fn text_beyond_buffer_is_left_out_without_unwinding() {
        for text in [&b"a<b"[..], b"0123456789012345678901234567890123456789<'"] {
            for room in 0..escaped_length(text) {
                let mut place = vec![0; room];
                let written = write(text, &mut place);
                assert!(written <= room, "{written} bytes in a place of {room}");
            }
        }
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

    /// Escapes byte by byte.
    fn plainly_escaped(text: &[u8]) -> Vec<u8> {
        text.iter()
            .flat_map(|byte| replacement(*byte).map_or_else(|| vec![*byte], <[u8]>::to_vec))
            .collect()
    }

    #[test]
    fn escape_searches_each_byte_once() {
        let mut text = vec![b'"'; 1000];
        text.extend_from_slice(b"x<x'x&");
        let (mut next, mut found) = (Next::of(&text), 0);
        // The one mark after all the quotes is found at the beginning, and not searched again before it is reached.
        while next.place() < 1000 {
            assert_eq!((next.mark, next.quote), (1001, found));
            found += 1;
            next.advance(&text);
        }
        assert_eq!((found, next.mark, next.quote), (1000, 1001, 1003));
    }

    proptest! {
        #[test]
        fn texts_of_all_kinds_are_escaped_byte_by_byte(text in "[&<>\"'xyz]{0,100}", dull in "x{0,80}") {
            for text in [text.clone(), format!("{dull}{text}"), format!("{text}{dull}")] {
                prop_assert_eq!(escaped(text.as_bytes()), plainly_escaped(text.as_bytes()));
            }
        }
    }
}
