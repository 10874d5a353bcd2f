//! A pattern of keys, prepared to be compared with many of them.
//!
//! Owns the comparison: it remembers, as bits, after how many elements of the pattern each text may
//! be, so a byte of text costs one step for 64 elements, whatever the pattern is: the thousands of
//! keys of a listing share one preparation. Means the same as [`fits_glob`](channels::fits_glob).
//! Never compares names of channels: their patterns are many and short, and are indexed.

use channels::limits::PATTERN_SIZE;
use channels::{PatternTooLong, check_pattern};

/// Words with a bit for each number of elements.
const WORDS: usize = PATTERN_SIZE / 64 + 1;

/// Values of a byte.
const BYTES: usize = 256;

/// A prepared pattern.
#[derive(Clone, Debug)]
pub(crate) struct KeyPattern {
    /// Words in use.
    width: usize,
    /// Elements that stand for one byte each.
    elements: usize,
    /// For each byte, the elements that it fits.
    fits: Vec<u64>,
    /// The numbers of elements behind which a star is.
    stars: [u64; WORDS],
    /// The bytes that every matching text begins with.
    prefix: Vec<u8>,
}

impl KeyPattern {
    /// Prepares a pattern.
    ///
    /// # Errors
    /// If it is too long.
    pub(crate) fn new(pattern: &[u8]) -> Result<Self, PatternTooLong> {
        let mut rest = check_pattern(pattern)?;
        let mut sets = Vec::new();
        let mut stars = [0; WORDS];
        let (mut prefix, mut is_prefix) = (Vec::new(), true);
        while let Some(first) = rest.first() {
            if *first == b'*' {
                stars[sets.len() / 64] |= 1 << (sets.len() % 64);
                (rest, is_prefix) = (&rest[1..], false);
                continue;
            }
            let (set, length) = element(rest);
            is_prefix &= set.literal.is_some();
            prefix.extend(set.literal.filter(|_| is_prefix));
            sets.push(set);
            rest = &rest[length..];
        }
        let width = sets.len() / 64 + 1;
        let mut fits = vec![0; BYTES * width];
        for (at, set) in sets.iter().enumerate() {
            let mut put = |byte: usize| fits[byte * width + at / 64] |= 1 << (at % 64);
            match set.literal {
                Some(byte) => put(usize::from(byte)),
                None => (0..BYTES).filter(|byte| set.has(*byte)).for_each(put),
            }
        }
        Ok(Self { width, elements: sets.len(), fits, stars, prefix })
    }

    /// The bytes that every matching text begins with.
    #[must_use]
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Whether the pattern matches this text.
    #[must_use]
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        if text.len() < self.elements {
            return false;
        }
        let mut may_be = [0; WORDS];
        may_be[0] = 1;
        for byte in text {
            let fits = &self.fits[usize::from(*byte) * self.width..][..self.width];
            let (mut carried, mut any) = (0, 0);
            for ((after, fits), star) in may_be.iter_mut().zip(fits).zip(&self.stars) {
                let moved = *after & fits;
                *after = moved << 1 | carried | *after & star;
                carried = moved >> 63;
                any |= *after;
            }
            if any == 0 {
                return false;
            }
        }
        may_be[self.elements / 64] >> (self.elements % 64) & 1 == 1
    }
}

/// The bytes that an element fits.
struct Set {
    /// The only one.
    literal: Option<u8>,
    bits: [u64; BYTES / 64],
}

impl Set {
    fn of(byte: u8) -> Self {
        Self { literal: Some(byte), bits: [0; BYTES / 64] }
    }

    fn has(&self, byte: usize) -> bool {
        self.bits[byte / 64] >> (byte % 64) & 1 == 1
    }
}

/// The first element of a pattern, which is not a star, and its length.
fn element(pattern: &[u8]) -> (Set, usize) {
    match pattern {
        [b'?', ..] => (Set { literal: None, bits: [u64::MAX; BYTES / 64] }, 1),
        [b'[', rest @ ..] => {
            let (bits, length) = class(rest);
            (Set { literal: None, bits }, 1 + length)
        }
        [b'\\', escaped, ..] => (Set::of(*escaped), 2),
        [literal, ..] => (Set::of(*literal), 1),
        [] => (Set { literal: None, bits: [0; BYTES / 64] }, 0),
    }
}

/// A class after its bracket: its bytes, and its length. An unclosed class extends to the end of the pattern.
fn class(pattern: &[u8]) -> ([u64; BYTES / 64], usize) {
    let is_negated = pattern.first() == Some(&b'^');
    let mut at = usize::from(is_negated);
    let mut bits = [0; BYTES / 64];
    loop {
        let (range, length) = match &pattern[at..] {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => (*escaped..=*escaped, 2),
            [first, b'-', last, ..] if *last != b']' => (*first.min(last)..=*first.max(last), 3),
            [only, ..] => (*only..=*only, 1),
        };
        range.for_each(|byte| bits[usize::from(byte) / 64] |= 1 << (byte % 64));
        at += length;
    }
    (if is_negated { bits.map(|word| !word) } else { bits }, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use channels::fits_glob;

    #[test]
    fn a_pattern_has_a_bound() {
        assert!(KeyPattern::new(&[b'a'; PATTERN_SIZE]).is_ok());
        assert_eq!(KeyPattern::new(&[b'a'; PATTERN_SIZE + 1]).err(), Some(PatternTooLong));
    }

    #[test]
    fn a_pattern_of_the_largest_size_is_compared_as_any_other() {
        for pattern in [b"a*".repeat(PATTERN_SIZE / 2), b"?".repeat(PATTERN_SIZE)] {
            let matcher = KeyPattern::new(&pattern).unwrap();
            for length in [0, 1, 511, 512, 1_023, 1_024, 1_025] {
                let text = vec![b'a'; length];
                assert_eq!(matcher.matches(&text), fits_glob(&pattern, &text), "{length}");
            }
        }
    }

    #[test]
    fn its_prefix_is_what_matching_texts_begin_with() {
        let cases =
            [("user:*", "user:"), ("a\\*b?c", "a*b"), ("*", ""), ("[a]b", ""), ("abc", "abc")];
        for (pattern, prefix) in cases {
            let matcher = KeyPattern::new(pattern.as_bytes()).unwrap();
            assert_eq!(matcher.prefix(), prefix.as_bytes(), "{pattern}");
        }
    }

    /// All texts of up to that many of these bytes.
    fn texts(bytes: &[u8], most: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut begin = 0;
        for _ in 0..most {
            let end = all.len();
            for at in begin..end {
                for byte in bytes {
                    all.push([&all[at][..], &[*byte]].concat());
                }
            }
            begin = end;
        }
        all
    }

    #[test]
    fn it_means_what_the_plain_comparison_means() {
        let names = texts(b"ab]-", 3);
        for pattern in texts(b"ab*?[]^\\-", 4) {
            let matcher = KeyPattern::new(&pattern).unwrap();
            for name in &names {
                let fits = matcher.matches(name);
                assert_eq!(fits, fits_glob(&pattern, name), "{pattern:?} {name:?}");
                assert!(!fits || name.starts_with(matcher.prefix()), "{pattern:?} {name:?}");
            }
        }
    }
}
