//! Text that comes in pieces, checked as it comes (RFC 6455 section 8.1).
//!
//! Owns how much of a text is known to be UTF-8: a wrong byte is found with the piece that has it.

/// How much of a text is known to be UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    bytes: usize,
}

/// It is not UTF-8, whatever follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotUtf8;

impl Checked {
    /// More bytes have arrived. The last character may be incomplete.
    pub(super) fn advance(&mut self, text: &[u8]) -> Result<(), NotUtf8> {
        match simdutf8::compat::from_utf8(&text[self.bytes..]) {
            Ok(_) => self.bytes = text.len(),
            Err(error) if error.error_len().is_none() => self.bytes += error.valid_up_to(),
            Err(_) => return Err(NotUtf8),
        }
        Ok(())
    }

    /// The text has ended.
    pub(super) fn finish(self, text: &[u8]) -> Result<(), NotUtf8> {
        if self.bytes == text.len() { Ok(()) } else { Err(NotUtf8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], piece: usize) -> Result<(), (usize, NotUtf8)> {
        let mut checked = Checked::default();
        for end in (piece..text.len()).step_by(piece).chain([text.len()]) {
            checked.advance(&text[..end]).map_err(|wrong| (end, wrong))?;
        }
        checked.finish(text).map_err(|wrong| (text.len(), wrong))
    }

    #[test]
    fn a_text_may_be_cut_anywhere() {
        let text = "κόσμε 𐀀 \u{10ffff} end".as_bytes();
        for piece in 1..=text.len() {
            assert_eq!(check(text, piece), Ok(()), "{piece}");
        }
    }

    #[test]
    fn a_wrong_byte_is_found_with_its_piece() {
        // A surrogate, an overlong slash, a character above U+10FFFF: each is recognised by its second byte.
        for (text, found) in
            [(&b"ab\xed\xa0\x80cd"[..], 4), (b"a\xc0\xafb", 2), (b"\xf4\x90\x80\x80", 2)]
        {
            assert_eq!(check(text, 1), Err((found, NotUtf8)), "{text:?}");
        }
        assert_eq!(check(b"a\xe2\x82", 1), Err((3, NotUtf8)), "cut at its end");
    }
}
