//! The expected answer.
//!
//! Owns the comparison of bodies, including bodies that arrive in pieces. Never reads an answer's
//! head.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// The criteria for an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerCheck {
    /// The correct statuses.
    pub status: StatusSet,
    /// The length of the body.
    pub length: Option<u64>,
    /// The body.
    pub body: BodyCheck,
}

/// A set of statuses from 100 to 999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusSet {
    /// Bit n stands for status n.
    bits: [u64; STATUS_WORDS],
}

/// Words of 64 bits that hold every number of three digits.
const STATUS_WORDS: usize = 16;

/// The criterion for a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BodyCheck {
    /// Nothing.
    #[default]
    Any,
    /// It is these bytes.
    Equal(Vec<u8>),
    /// It has this hash.
    Sha256([u8; 32]),
}

/// The progress of checking one body. It allocates only for a hash over several pieces.
#[derive(Debug, Default)]
pub enum BodyProgress {
    /// No byte was received.
    #[default]
    Nothing,
    /// This many bytes are correct.
    Equal(usize),
    /// A byte is wrong.
    Wrong,
    /// The hash so far.
    Hashed(Box<Sha256>),
}

impl StatusSet {
    /// No status.
    pub const NONE: StatusSet = StatusSet { bits: [0; STATUS_WORDS] };

    /// The same statuses and those of a range, both ends included.
    #[must_use]
    pub fn with(mut self, statuses: std::ops::RangeInclusive<u16>) -> Self {
        for status in statuses {
            if let Some(word) = self.bits.get_mut(usize::from(status / 64)) {
                *word |= 1 << (status % 64);
            }
        }
        self
    }

    /// Whether it contains a status.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        let word = self.bits.get(usize::from(status / 64)).copied().unwrap_or(0);
        word >> (status % 64) & 1 == 1
    }
}

/// By default, success and redirection are correct.
impl fmt::Display for StatusSet {
    /// In the notation of the option: single statuses and ranges.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut status = 100_u16;
        while status <= 999 {
            let first = status;
            while self.contains(status) {
                status += 1;
            }
            match status - first {
                0 => {}
                1 => write!(formatter, "{separator}{first}")?,
                _ => write!(formatter, "{separator}{first}-{}", status - 1)?,
            }
            if status > first {
                separator = ",";
            }
            status += 1;
        }
        Ok(())
    }
}

impl Default for StatusSet {
    fn default() -> Self {
        Self::NONE.with(200..=399)
    }
}

/// An error in the text of a check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// Not a list of statuses.
    #[error(
        "`{0}` is not a status from 100 to 599; write 200, 2xx, 200-204, or several with commas"
    )]
    Status(String),
    /// Not a hash.
    #[error(
        "`{0}` is not a SHA-256 hash; give the 64 hexadecimal digits that `sha256sum FILE` prints"
    )]
    Sha256(String),
}

/// `200`, `2xx`, `200-204`, or several of these separated by commas.
impl FromStr for StatusSet {
    type Err = CheckError;

    fn from_str(text: &str) -> Result<Self, CheckError> {
        text.split(',').try_fold(Self::NONE, |set, word| Ok(set.with(statuses(word)?)))
    }
}

fn statuses(word: &str) -> Result<std::ops::RangeInclusive<u16>, CheckError> {
    let wrong = || CheckError::Status(word.to_owned());
    if let Some(class) = word.strip_suffix("xx") {
        let hundreds = class.parse::<u16>().ok().filter(|digit| (1..=5).contains(digit));
        let first = hundreds.filter(|_| class.len() == 1).ok_or_else(wrong)? * 100;
        return Ok(first..=first + 99);
    }
    let status = |digits: &str| {
        let number = digits.parse::<u16>().ok().filter(|number| (100..=599).contains(number));
        number.filter(|_| digits.len() == 3).ok_or_else(wrong)
    };
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (status(first)?, status(last)?);
    if first <= last { Ok(first..=last) } else { Err(wrong()) }
}

impl BodyCheck {
    /// A hash from its 64 hexadecimal digits.
    ///
    /// # Errors
    /// If it is not a hash.
    pub fn sha256(text: &str) -> Result<Self, CheckError> {
        let wrong = || CheckError::Sha256(text.to_owned());
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut hash = [0; 32];
        for (index, byte) in hash.iter_mut().enumerate() {
            let digits = text.get(index * 2..index * 2 + 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Self::Sha256(hash))
    }

    /// Whether a body in one piece is correct.
    #[inline]
    pub fn accepts(&self, body: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Equal(expected) => expected == body,
            Self::Sha256(hash) => Sha256::digest(body)[..] == hash[..],
        }
    }

    /// Takes the next piece of a body in several pieces.
    pub fn take(&self, progress: &mut BodyProgress, piece: &[u8]) {
        match self {
            Self::Any => {}
            Self::Equal(expected) => progress.compare(expected, piece),
            Self::Sha256(_) => progress.hash(piece),
        }
    }

    /// Whether a body in pieces is correct, at its end. The progress is reset for the next body.
    pub fn finish(&self, progress: &mut BodyProgress) -> bool {
        match (self, std::mem::take(progress)) {
            (Self::Any, _) => true,
            (Self::Equal(expected), BodyProgress::Equal(length)) => expected.len() == length,
            (Self::Sha256(hash), BodyProgress::Hashed(state)) => state.finalize()[..] == hash[..],
            (_, BodyProgress::Nothing) => self.accepts(b""),
            _ => false,
        }
    }
}

impl BodyProgress {
    fn compare(&mut self, expected: &[u8], piece: &[u8]) {
        let length = match self {
            Self::Nothing => 0,
            Self::Equal(length) => *length,
            Self::Wrong | Self::Hashed(_) => return,
        };
        *self = match expected.get(length..) {
            Some(rest) if rest.starts_with(piece) => Self::Equal(length + piece.len()),
            _ => Self::Wrong,
        };
    }

    fn hash(&mut self, piece: &[u8]) {
        if !matches!(self, Self::Hashed(_)) {
            *self = Self::Hashed(Box::default());
        }
        if let Self::Hashed(state) = self {
            state.update(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statuses_are_numbers_classes_and_ranges() {
        let set: StatusSet = "200,404,3xx,500-502".parse().unwrap();
        let members: Vec<u16> = (0..1200).filter(|status| set.contains(*status)).collect();
        let expected: Vec<u16> =
            [200].into_iter().chain(300..=399).chain([404, 500, 501, 502]).collect();
        assert_eq!(members, expected);
        for text in ["", "20", "2000", "xx", "6xx", "22xx", "099", "600", "204-200", "200,", "+20"]
        {
            assert!(text.parse::<StatusSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn success_and_redirection_are_right_by_default() {
        let shown: StatusSet = "200,404,3xx,500-502".parse().unwrap();
        assert_eq!(shown.to_string(), "200,300-399,404,500-502");
        let set = StatusSet::default();
        assert_eq!(
            [199, 200, 399, 400].map(|status| set.contains(status)),
            [false, true, true, false]
        );
    }

    #[test]
    fn a_hash_is_64_digits() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let check = BodyCheck::sha256(empty).unwrap();
        assert!(check.accepts(b"") && !check.accepts(b"a"));
        assert!(check.finish(&mut BodyProgress::Nothing));
        for text in ["", "e3b0", &empty.replace('e', "g"), &empty.replace("e3", "+3")] {
            assert!(BodyCheck::sha256(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_body_in_pieces_is_judged_as_in_one(
            expected in proptest::collection::vec(any::<u8>(), 0..40),
            other in proptest::collection::vec(any::<u8>(), 0..40),
            cuts in proptest::collection::vec(1_usize..9, 0..10),
        ) {
            let hash = Sha256::digest(&expected);
            let checks = [
                BodyCheck::Any,
                BodyCheck::Equal(expected.clone()),
                BodyCheck::Sha256(hash[..].try_into().unwrap()),
            ];
            let longer: Vec<u8> = expected.iter().copied().chain([1]).collect();
            let shorter = expected.split_last().map_or(&[][..], |(_, rest)| rest);
            for check in &checks {
                let mut progress = BodyProgress::default();
                for body in [&expected[..], &other, &longer, shorter] {
                    let mut rest = body;
                    for cut in &cuts {
                        let (piece, after) = rest.split_at(rest.len().min(*cut));
                        check.take(&mut progress, piece);
                        rest = after;
                    }
                    check.take(&mut progress, rest);
                    prop_assert_eq!(check.finish(&mut progress), check.accepts(body));
                }
            }
        }
    }
}
