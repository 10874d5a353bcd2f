//! Names of channels.
//!
//! Owns what a name may be: text without spaces and control characters, because it appears in
//! paths, logs and line-based protocols.

use std::fmt;

use crate::limits::NAME_SIZE;

/// Why a text is not a valid name of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameProblem {
    /// It is empty.
    Empty,
    /// It is longer than [`NAME_SIZE`].
    TooLong,
    /// It is not UTF-8.
    NotUtf8,
    /// It contains a space or a control character.
    Space,
}

// The error text below states this number.
const _: () = assert!(NAME_SIZE == 255);

impl NameProblem {
    /// The text for its client.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "a channel has a name",
            Self::TooLong => "a channel's name has at most 255 bytes",
            Self::NotUtf8 => "a channel's name is UTF-8",
            Self::Space => "a channel's name has no spaces and no control characters",
        }
    }
}

impl fmt::Display for NameProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Checks a name.
///
/// # Errors
/// If it is invalid.
pub fn check_name(name: &[u8]) -> Result<&str, NameProblem> {
    if name.is_empty() {
        return Err(NameProblem::Empty);
    }
    if name.len() > NAME_SIZE {
        return Err(NameProblem::TooLong);
    }
    let name = str::from_utf8(name).map_err(|_| NameProblem::NotUtf8)?;
    if name.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err(NameProblem::Space);
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_short_text_without_spaces() {
        assert_eq!(check_name("räume:a/b.c".as_bytes()), Ok("räume:a/b.c"));
        assert_eq!(check_name(&[b'a'; NAME_SIZE]).map(str::len), Ok(NAME_SIZE));
        assert_eq!(check_name(&[b'a'; NAME_SIZE + 1]), Err(NameProblem::TooLong));
        assert_eq!(check_name(b""), Err(NameProblem::Empty));
        assert_eq!(check_name(b"a\xff"), Err(NameProblem::NotUtf8));
        for name in ["a b", "a\n", "\u{85}", "a\u{a0}b", "\0"] {
            assert_eq!(check_name(name.as_bytes()), Err(NameProblem::Space), "{name:?}");
        }
    }
}
