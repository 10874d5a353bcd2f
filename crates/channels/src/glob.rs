//! Patterns of channel names, as in Redis: `*` any characters, `?` any byte, `[a-z]` and `[^a-z]`,
//! `\` escapes the next byte.
//!
//! Owns the comparison. Backtracking only ever extends the last star, so the cost is at most the
//! length of the name times the length of the pattern.

use std::ops::RangeInclusive;

use crate::limits::PATTERN_SIZE;

/// A pattern that is longer than [`PATTERN_SIZE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pattern has at most {PATTERN_SIZE} bytes")]
pub struct PatternTooLong;

/// Checks the length of a pattern of a client.
///
/// # Errors
/// If it is too long.
pub fn check_pattern(pattern: &[u8]) -> Result<&[u8], PatternTooLong> {
    if pattern.len() > PATTERN_SIZE { Err(PatternTooLong) } else { Ok(pattern) }
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelGlob(Box<str>);

impl ChannelGlob {
    /// Every text is a valid pattern.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches this name.
    pub fn matches(&self, name: &str) -> bool {
        fits_glob(self.0.as_bytes(), name.as_bytes())
    }
}

/// Whether a pattern matches this name; both may be any bytes.
pub fn fits_glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where to continue if what follows the last star does not match: after the star, and one byte later in the name.
    let mut again: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            again = Some((at, seen));
            continue;
        }
        let fits = match (pattern.get(at), name.get(seen)) {
            (None, None) => return true,
            (Some(_), Some(byte)) => one(&pattern[at..], *byte),
            _ => None,
        };
        if let Some(length) = fits {
            at += length;
            seen += 1;
            continue;
        }
        let Some((behind_star, begin)) = again.filter(|(_, begin)| *begin < name.len()) else {
            return false;
        };
        again = Some((behind_star, begin + 1));
        (at, seen) = (behind_star, begin + 1);
    }
}

/// Whether the first element of a pattern matches this byte; returns the element's length.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', rest @ ..] => {
            let (length, is_member) = class(rest, byte);
            is_member.then_some(1 + length)
        }
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

/// A class after its bracket: its length, and whether it contains the byte. An unclosed class extends to the end of the
/// pattern.
fn class(pattern: &[u8], byte: u8) -> (usize, bool) {
    let mut is_member = false;
    let length = members(pattern, |range| is_member |= range.contains(&byte));
    (length, is_member != is_negated(pattern))
}

/// Whether a class after its bracket contains all bytes but its members.
pub(crate) fn is_negated(pattern: &[u8]) -> bool {
    pattern.first() == Some(&b'^')
}

/// Reads the members of a class once, in order. Returns its length.
pub(crate) fn members(pattern: &[u8], mut add: impl FnMut(RangeInclusive<u8>)) -> usize {
    let mut at = usize::from(is_negated(pattern));
    loop {
        match &pattern[at..] {
            [] => return at,
            [b']', ..] => return at + 1,
            [b'\\', escaped, ..] => {
                add(*escaped..=*escaped);
                at += 2;
            }
            [first, b'-', last, ..] if *last != b']' => {
                add(*first.min(last)..=*first.max(last));
                at += 3;
            }
            [only, ..] => {
                add(*only..=*only);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_redis() {
        let cases = [
            ("news.*", "news.", true),
            ("news.*", "news.sport", true),
            ("news.*", "new.sport", false),
            ("*", "", true),
            ("*", "anything", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hbllo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("h[a-c]llo", "hdllo", false),
            ("a\\*b", "a*b", true),
            ("a\\*b", "aab", false),
            ("[a\\]]", "]", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("*a", "ba", true),
            ("**a", "a", true),
            ("a", "ab", false),
            ("ab", "a", false),
            ("[ab", "a", true),
        ];
        for (pattern, name, fits) in cases {
            assert_eq!(ChannelGlob::new(pattern).matches(name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = ChannelGlob::new(&format!("{}b", "a*".repeat(100)));
        assert!(!pattern.matches(&"a".repeat(crate::limits::NAME_SIZE)));
    }
}
