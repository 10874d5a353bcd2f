//! Text from bytes.
//!
//! Owns the conversion of bytes that a parser accepted to a `str`, without the UTF-8 check, which for a short path
//! costs more than reading it; and the reading of the kernel's files.

use std::io;
use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::ascii;

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
