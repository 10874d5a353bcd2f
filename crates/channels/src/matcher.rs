//! A pattern of names of channels or of keys, prepared for many comparisons.
//!
//! Owns the pieces between stars. The first piece must be at the beginning of a name, the last at its
//! end, and each of the others is searched behind the one before it. The first place that fits is
//! always right, so nothing is tried twice, and the steps of a comparison are bounded by the pieces
//! alone. Accepts what [`fits_glob`](crate::fits_glob) accepts.

use std::ops::RangeInclusive;

use crate::glob::{is_negated, members};
use crate::limits::{NAME_SIZE, STEPS_PER_PATTERN};

/// Literal bytes that are compared in one step.
const BYTES_OF_A_STEP: usize = 8;

/// One element of a pattern other than a star.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    Byte(u8),
    Any,
    /// The bytes of a class, one bit for each.
    Class(Box<[u64; 4]>),
}

impl Element {
    fn fits(&self, byte: u8) -> bool {
        match self {
            Self::Byte(literal) => *literal == byte,
            Self::Any => true,
            Self::Class(bits) => bits[usize::from(byte >> 6)] & 1 << (byte & 63) != 0,
        }
    }
}

/// The elements of a pattern between two stars.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(Box<[u8]>),
    Mixed(Box<[Element]>),
}

impl Piece {
    fn of(elements: Vec<Element>) -> Self {
        let literal = |element: &Element| match element {
            Element::Byte(byte) => Some(*byte),
            Element::Any | Element::Class(_) => None,
        };
        match elements.iter().map(literal).collect::<Option<Vec<u8>>>() {
            Some(bytes) => Self::Literal(bytes.into()),
            None => Self::Mixed(elements.into()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Literal(bytes) => bytes.len(),
            Self::Mixed(elements) => elements.len(),
        }
    }

    /// Whether it fits these bytes, of which there are as many.
    fn fits(&self, bytes: &[u8], steps: &mut usize) -> bool {
        match self {
            Self::Literal(literal) => {
                *steps += literal.len() / BYTES_OF_A_STEP;
                **literal == *bytes
            }
            Self::Mixed(elements) => {
                let differs = elements.iter().zip(bytes).position(|(of, byte)| !of.fits(*byte));
                *steps += differs.unwrap_or(elements.len());
                differs.is_none()
            }
        }
    }

    /// Where it fits first.
    fn find(&self, bytes: &[u8], steps: &mut usize) -> Option<usize> {
        if let Self::Literal(literal) = self {
            *steps += bytes.len() / BYTES_OF_A_STEP;
            return memchr::memmem::find(bytes, literal);
        }
        bytes.windows(self.len()).position(|window| {
            *steps += 1;
            self.fits(window, steps)
        })
    }

    /// The steps of comparing it at one place.
    fn most_steps_once(&self) -> usize {
        match self {
            Self::Literal(literal) => literal.len() / BYTES_OF_A_STEP,
            Self::Mixed(elements) => elements.len(),
        }
    }

    /// The steps of the longest search for it.
    fn most_steps(&self) -> usize {
        match self {
            Self::Literal(_) => NAME_SIZE / BYTES_OF_A_STEP,
            Self::Mixed(elements) => {
                let places = (NAME_SIZE + 1).saturating_sub(elements.len());
                places * (1 + elements.len())
            }
        }
    }
}

/// Adds a range to the bytes of a class, a word at a time: a pattern may have hundreds of ranges.
fn add(bits: &mut [u64; 4], range: RangeInclusive<u8>) {
    for (word, bits) in bits.iter_mut().enumerate() {
        let first = usize::from(*range.start()).saturating_sub(64 * word);
        let end = (usize::from(*range.end()) + 1).saturating_sub(64 * word).min(64);
        if first < end {
            *bits |= u64::MAX >> (64 - (end - first)) << first;
        }
    }
}

/// A prepared pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelMatcher {
    first: Piece,
    /// The pieces that follow a star, in order; the last of them is at the end of the name. `None`: there is no star.
    behind_stars: Option<(Box<[Piece]>, Piece)>,
    length: usize,
}

impl ChannelMatcher {
    /// Prepares a pattern.
    pub fn new(pattern: &[u8]) -> Self {
        let mut pieces = vec![Vec::new()];
        let mut rest = pattern;
        while let [first, ..] = rest {
            let (element, length) = match rest {
                [b'*', ..] => {
                    // Stars in a row are one.
                    if pieces.len() == 1 || pieces.last().is_some_and(|last| !last.is_empty()) {
                        pieces.push(Vec::new());
                    }
                    rest = &rest[1..];
                    continue;
                }
                [b'?', ..] => (Element::Any, 1),
                [b'[', class @ ..] => {
                    let mut bits = [0; 4];
                    let length = 1 + members(class, |range| add(&mut bits, range));
                    if is_negated(class) {
                        bits = bits.map(|word| !word);
                    }
                    (Element::Class(Box::new(bits)), length)
                }
                [b'\\', escaped, ..] => (Element::Byte(*escaped), 2),
                _ => (Element::Byte(*first), 1),
            };
            if let Some(last) = pieces.last_mut() {
                last.push(element);
            }
            rest = &rest[length..];
        }
        let mut pieces = pieces.into_iter().map(Piece::of);
        let first = pieces.next().unwrap_or(Piece::Literal(Box::default()));
        let mut behind: Vec<Piece> = pieces.collect();
        let behind_stars = behind.pop().map(|last| (behind.into(), last));
        let mut matcher = Self { first, behind_stars, length: 0 };
        matcher.length = matcher.pieces().map(Piece::len).sum();
        matcher
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let behind = self.behind_stars.iter();
        let behind = behind.flat_map(|(middle, last)| middle.iter().chain(std::iter::once(last)));
        std::iter::once(&self.first).chain(behind)
    }

    /// The bytes with which every name begins that it accepts, for an index; no more than a name may have.
    pub fn prefix(&self) -> &[u8] {
        match &self.first {
            Piece::Literal(bytes) => &bytes[..bytes.len().min(NAME_SIZE)],
            Piece::Mixed(_) => b"",
        }
    }

    /// Whether it accepts a name. Adds its steps.
    pub fn accepts(&self, name: &[u8], steps: &mut usize) -> bool {
        *steps += STEPS_PER_PATTERN;
        let Some((middle, last)) = &self.behind_stars else {
            return name.len() == self.length && self.first.fits(name, steps);
        };
        if name.len() < self.length {
            return false;
        }
        let (begin, name) = name.split_at(self.first.len());
        let (mut name, end) = name.split_at(name.len() - last.len());
        if !last.fits(end, steps) || !self.first.fits(begin, steps) {
            return false;
        }
        for piece in middle {
            let Some(at) = piece.find(name, steps) else { return false };
            name = &name[at + piece.len()..];
        }
        true
    }

    /// The steps of the longest comparison with a name.
    pub(crate) fn most_steps(&self) -> usize {
        let last = self.behind_stars.as_ref().map_or(0, |(_, last)| last.most_steps_once());
        let middle = self.behind_stars.iter().flat_map(|(middle, _)| middle.iter());
        let middle = middle.map(Piece::most_steps).sum::<usize>();
        STEPS_PER_PATTERN + self.first.most_steps_once() + middle + last
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fits_glob;

    fn accepts(pattern: &str, name: &str) -> (bool, usize) {
        let mut steps = 0;
        (ChannelMatcher::new(pattern.as_bytes()).accepts(name.as_bytes(), &mut steps), steps)
    }

    #[test]
    fn the_pieces_of_a_pattern_fit_as_the_pattern_does() {
        for pattern in [
            "", "a", "a*", "*a", "a*b", "**", "*a*b*", "a[b-d]*e", "?*?", "[^a]", "[a", "a\\",
            "\\*", "*\\?*a",
        ] {
            for name in [
                "", "a", "b", "ab", "abe", "aab", "abab", "ace", "*", "a*b", "?a", "a\\", "\\",
                "aba",
            ] {
                let plain = fits_glob(pattern.as_bytes(), name.as_bytes());
                assert_eq!(accepts(pattern, name).0, plain, "{pattern} {name}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_pattern_and_any_name(pattern in "[ab*?\\[\\]^\\\\-]{0,12}", name in "[ab*\\]-]{0,12}") {
            let plain = fits_glob(pattern.as_bytes(), name.as_bytes());
            let (accepted, steps) = accepts(&pattern, &name);
            prop_assert_eq!(accepted, plain);
            prop_assert!(steps <= ChannelMatcher::new(pattern.as_bytes()).most_steps());
        }
    }

    #[test]
    fn classes_have_the_same_members_as_in_a_comparison() {
        for (first, last) in
            [(0, 255), (63, 64), (0, 63), (64, 127), (100, 200), (191, 192), (7, 7)]
        {
            for start in [&b"["[..], b"[^"] {
                let pattern = [start, &[first, b'-', last, b']']].concat();
                let matcher = ChannelMatcher::new(&pattern);
                for byte in 0..=u8::MAX {
                    let accepted = matcher.accepts(&[byte], &mut 0);
                    assert_eq!(accepted, fits_glob(&pattern, &[byte]), "{first} {last} {byte}");
                }
            }
        }
    }

    #[test]
    fn a_long_name_takes_a_few_steps() {
        let name = "a".repeat(NAME_SIZE);
        assert!(accepts("a*123b", &name).1 < 10);
        assert!(accepts(&format!("{}b", "a*".repeat(100)), &name).1 < 10);
        let hard = format!("*{}*", "[ab]".repeat(50) + "c");
        assert!(accepts(&hard, &name).1 <= ChannelMatcher::new(hard.as_bytes()).most_steps());
    }
}
