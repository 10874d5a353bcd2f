//! Durations and sizes as text: `"75s"`, `"16 KiB"`.
//!
//! Owns the units. Never knows which key the text belongs to.

use std::fmt;
use std::time::Duration;

use crate::limits::DEADLINE_MAX;
use crate::wording::shown;

const DURATION_UNITS: [(&str, u64); 6] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("m", 60 * 1_000_000),
    ("h", 3600 * 1_000_000),
    ("d", 24 * 3600 * 1_000_000),
];

const SIZE_UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// Those of [`SIZE_UNITS`] that are used when a size is written.
const SPOKEN_SIZE_UNITS: std::ops::Range<usize> = 1..6;

/// Why a text is not a duration or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It does not begin with a number.
    #[error("it must begin with a number")]
    NoNumber,
    /// A duration above zero without a unit: the number.
    #[error("it has no unit; write \"{0}s\" (known are us, ms, s, m, h and d)")]
    NoUnit(String),
    /// A duration with an unknown unit.
    #[error(
        "`{}` is not a unit; known are us, ms, s, m, h and d",
        shown(.0)
    )]
    UnknownDurationUnit(String),
    /// A size with an unknown unit.
    #[error(
        "`{}` is not a unit; known are B, KiB, MiB, GiB, TiB (by 1024) and kB, MB, GB, TB (by 1000)",
        shown(.0)
    )]
    UnknownSizeUnit(String),
    /// A duration above [`DEADLINE_MAX`].
    #[error("it is more than 365 days")]
    DurationTooLong,
    /// A size that does not fit in 64 bits.
    #[error("it is more bytes than 64 bits hold")]
    SizeTooLarge,
    /// A duration with a part of a microsecond.
    #[error("it is finer than a microsecond")]
    DurationTooFine,
    /// A size with a part of a byte.
    #[error("it is not a whole number of bytes")]
    SizeTooFine,
}

/// Parses a duration: a number and a unit, as in `"500ms"`, `"0.2s"`, `"5m"`. Zero needs no unit.
///
/// # Errors
///
/// If the text is not a duration.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let (number, unit) = split(text).ok_or(QuantityError::NoNumber)?;
    let factor = DURATION_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let factor = match factor {
        Some(factor) => factor,
        // Zero is the same in every unit.
        None if unit.is_empty() && number.is_zero() => 1,
        None if unit.is_empty() => return Err(QuantityError::NoUnit(number.to_string())),
        None => return Err(QuantityError::UnknownDurationUnit(unit.to_owned())),
    };
    match number.times(factor) {
        Ok(micros) => Some(Duration::from_micros(micros))
            .filter(|duration| *duration <= DEADLINE_MAX)
            .ok_or(QuantityError::DurationTooLong),
        Err(Misfit::TooLarge) => Err(QuantityError::DurationTooLong),
        Err(Misfit::TooFine) => Err(QuantityError::DurationTooFine),
    }
}

/// Parses a size in bytes: a number and perhaps a unit in any case, as in `"16 KiB"`, `"64kb"`, `"1.5 GiB"`.
///
/// # Errors
///
/// If the text is not a size.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let (number, unit) = split(text).ok_or(QuantityError::NoNumber)?;
    let factor = SIZE_UNITS
        .iter()
        .find(|(name, _)| unit.eq_ignore_ascii_case(name))
        .map(|(_, factor)| *factor)
        .ok_or_else(|| QuantityError::UnknownSizeUnit(unit.to_owned()))?;
    number.times(factor).map_err(|misfit| match misfit {
        Misfit::TooLarge => QuantityError::SizeTooLarge,
        Misfit::TooFine => QuantityError::SizeTooFine,
    })
}

/// A duration as text, in the largest unit that gives an integer.
pub(super) fn spoken_duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    let fits = |factor: u64| micros > 0 && micros.is_multiple_of(u128::from(factor));
    let unit = DURATION_UNITS.iter().rev().find(|(_, factor)| fits(*factor));
    let (name, factor) = unit.unwrap_or(&DURATION_UNITS[0]);
    format!("{}{name}", micros / u128::from(*factor))
}

/// A size as text, in the largest unit that gives an integer.
pub(super) fn spoken_size(bytes: u64) -> String {
    let units = SIZE_UNITS.get(SPOKEN_SIZE_UNITS).unwrap_or_default();
    let unit = units.iter().rev().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    let (name, factor) = unit.unwrap_or(&("B", 1));
    format!("{} {name}", bytes / factor)
}

/// A decimal number without a sign: the digits before and behind the point.
struct Decimal<'t> {
    whole: &'t str,
    fraction: &'t str,
}

/// Why a number of units is not a whole number of 64 bits.
enum Misfit {
    TooLarge,
    TooFine,
}

impl Decimal<'_> {
    fn is_zero(&self) -> bool {
        self.whole.bytes().chain(self.fraction.bytes()).all(|digit| digit == b'0')
    }

    /// This many times the factor, if that is a whole number.
    fn times(&self, factor: u64) -> Result<u64, Misfit> {
        let whole: u64 = self.whole.parse().map_err(|_| Misfit::TooLarge)?;
        let fraction = self.fraction.trim_end_matches('0');
        // More digits than any factor has: a part of the smallest unit remains.
        let parts = 10_u128.checked_pow(fraction.len() as u32).ok_or(Misfit::TooFine)?;
        let fraction: u128 = match fraction {
            "" => 0,
            digits => digits.parse().map_err(|_| Misfit::TooFine)?,
        };
        let product = fraction.checked_mul(u128::from(factor)).ok_or(Misfit::TooFine)?;
        if !product.is_multiple_of(parts) {
            return Err(Misfit::TooFine);
        }
        let behind = u64::try_from(product / parts).map_err(|_| Misfit::TooLarge)?;
        let before = whole.checked_mul(factor).ok_or(Misfit::TooLarge)?;
        before.checked_add(behind).ok_or(Misfit::TooLarge)
    }
}

impl fmt::Display for Decimal<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fraction {
            "" => out.write_str(self.whole),
            fraction => write!(out, "{}.{fraction}", self.whole),
        }
    }
}

/// The number at the beginning of a text, and what follows, without blanks.
fn split(text: &str) -> Option<(Decimal<'_>, &str)> {
    let (whole, rest) = digits(text.trim());
    let (fraction, unit) = match rest.strip_prefix('.').map(digits) {
        Some((fraction, unit)) if !fraction.is_empty() => (fraction, unit),
        _ => ("", rest),
    };
    (!whole.is_empty()).then(|| (Decimal { whole, fraction }, unit.trim_start()))
}

/// The digits at the beginning of a text, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(count)
}
