//! A message: its due time, its number, and padding.
//!
//! Owns its text, which is UTF-8.

use crate::limits::CHANNEL_MESSAGE_MINIMUM;

/// Digits of the time and of the number.
const TIME_DIGITS: usize = 16;
const NUMBER_DIGITS: usize = 10;

/// The shortest message.
const LEAST_BYTES: usize = TIME_DIGITS + NUMBER_DIGITS;

const _: () = assert!(LEAST_BYTES == CHANNEL_MESSAGE_MINIMUM);

/// Writes a message with this many bytes.
pub(super) fn write(due_ns: u64, number: u64, size: usize) -> String {
    let mut text = format!("{due_ns:016x}{number:010}");
    text.extend(std::iter::repeat_n('x', size.saturating_sub(text.len())));
    text
}

/// When it was due, and its number; `None` for a message from another publisher.
pub(super) fn read(text: &[u8]) -> Option<(u64, u64)> {
    let text = str::from_utf8(text.get(..LEAST_BYTES)?).ok()?;
    let (time, number) = text.split_at_checked(TIME_DIGITS)?;
    Some((u64::from_str_radix(time, 16).ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let text = write(0xabc, 42, 100);
        assert_eq!((text.len(), read(text.as_bytes())), (100, Some((0xabc, 42))));
        assert_eq!(write(u64::MAX, 9_999_999_999, 10).len(), LEAST_BYTES);
        assert_eq!(read(b"hello"), None);
        assert_eq!(read(&[b'x'; 100]), None);
    }
}
