//! The text of a step: bounded, and one line.

use std::fmt::{self, Write};

use crate::limits::TRACE_DETAIL_BYTES;

/// A text that takes no more than its bound, and nothing that would move a cursor.
struct Detail(String);

impl Write for Detail {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            let letter = if letter.is_control() { ' ' } else { letter };
            if self.0.len() + letter.len_utf8() > TRACE_DETAIL_BYTES {
                return Err(fmt::Error);
            }
            self.0.push(letter);
        }
        Ok(())
    }
}

/// The beginning of a text.
pub(super) fn text_of(text: fmt::Arguments<'_>) -> String {
    let mut detail = Detail(String::new());
    // The error says that it has taken as much as it takes.
    let _is_whole = detail.write_fmt(text);
    detail.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_letters_and_has_one_line() {
        assert_eq!(text_of(format_args!("a\r\n\u{1b}[1m{}", 5)), "a   [1m5");
        let long = text_of(format_args!("x{}", "\u{f6}".repeat(TRACE_DETAIL_BYTES)));
        assert_eq!(long.len(), TRACE_DETAIL_BYTES - 1);
    }
}
