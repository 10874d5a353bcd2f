//! Text from bytes.
//!
//! Owns the conversion of bytes that a parser accepted to a `str`, without the UTF-8 check, which for a short path
//! costs more than reading it; and the reading of the kernel's files.

use std::io;
use std::path::Path;

use crate::limits::LISTED_NUMBER_MAX;

/// The bytes as text, if they are ASCII.
#[inline]
pub fn ascii(bytes: &[u8]) -> Option<&str> {
    if !is_ascii(bytes) {
        return None;
    }
    // SAFETY: each byte is below 0x80, so each is a character of UTF-8.
    Some(unsafe { str::from_utf8_unchecked(bytes) })
}

/// Most texts are so short that two words have all of it. They may overlap.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; 8]);
    let size = bytes.len();
    let word = if let (8..=16, Some(first), Some(last)) =
        (size, bytes.first_chunk(), bytes.last_chunk())
    {
        u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last)
    } else if let (4..8, Some(first), Some(last)) = (size, bytes.first_chunk(), bytes.last_chunk())
    {
        u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last))
    } else {
        return bytes.is_ascii();
    };
    word & HIGH_BITS == 0
}

/// The text of a file in `/proc` or `/sys`. Names of programs and paths in it may be any bytes, also a letter that the
/// kernel cut in the middle: what is not UTF-8 is replaced, so that the rest can be read.
///
/// # Errors
/// If it cannot be read.
pub fn of_kernel_file(path: impl AsRef<Path>) -> io::Result<String> {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The numbers in a list of the kernel such as `0-3,8`. What is no number is left out.
pub fn numbers_in_list(list: &str) -> impl Iterator<Item = u32> + '_ {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let last: u32 = last.trim().parse().ok()?;
        Some(first.trim().parse().ok()?..=last).filter(|_| last <= LISTED_NUMBER_MAX)
    };
    list.split(',').filter_map(range).flatten()
}

#[cfg(test)]
mod tests {
    use super::{ascii, numbers_in_list};

    #[test]
    fn lists_of_the_kernel_are_numbers() {
        let all = |list: &str| numbers_in_list(list).collect::<Vec<u32>>();
        assert_eq!(all("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!((all(""), all("7"), all("3-0")), (vec![], vec![7], vec![]));
        assert_eq!((all("x,7-"), all("0-65536")), (vec![], vec![]));
    }

    #[test]
    fn ascii_is_text_and_nothing_else_is() {
        let every: Vec<u8> = (0..=0x7f).collect();
        assert_eq!(ascii(&every), str::from_utf8(&every).ok());
        for length in 1..40 {
            for high in 0..length {
                let mut bytes = vec![b'a'; length];
                assert_eq!(ascii(&bytes).map(str::len), Some(length));
                bytes[high] = 0x80;
                assert_eq!(ascii(&bytes), None);
            }
        }
    }
}
