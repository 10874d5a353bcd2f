//! Durations and sizes as text: `"75s"`, `"16 KiB"`.
//!
//! Owns the units. Never knows which key the text belongs to.

use std::fmt;
use std::time::Duration;

use super::wording::shown;
use crate::limits::DEADLINE_MAX;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuantityError {
    /// It does not begin with an integer.
    NoNumber,
    /// A duration above zero without a unit.
    NoUnit(u64),
    /// A duration with an unknown unit.
    UnknownDurationUnit(String),
    /// A size with an unknown unit.
    UnknownSizeUnit(String),
    /// A duration above [`DEADLINE_MAX`].
    DurationTooLong,
    /// A size that does not fit in 64 bits.
    SizeTooLarge,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber => out.write_str("it must begin with a whole number"),
            Self::NoUnit(number) => {
                write!(out, "it has no unit; write \"{number}s\" (known are us, ms, s, m, h and d)")
            }
            Self::UnknownDurationUnit(unit) => {
                write!(out, "`{}` is not a unit; known are us, ms, s, m, h and d", shown(unit))
            }
            Self::UnknownSizeUnit(unit) => write!(
                out,
                "`{}` is not a unit; known are B, KiB, MiB, GiB, TiB (by 1024) and kB, MB, GB, TB (by 1000)",
                shown(unit)
            ),
            Self::DurationTooLong => out.write_str("it is more than 365 days"),
            Self::SizeTooLarge => out.write_str("it is more bytes than 64 bits hold"),
        }
    }
}

impl std::error::Error for QuantityError {}

/// Parses a duration: an integer and a unit, as in `"500ms"`, `"10s"`, `"5m"`. Zero needs no unit.
///
/// # Errors
///
/// If the text is not a duration.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let (number, unit) = split(text).ok_or(QuantityError::NoNumber)?;
    let number = number.ok_or(QuantityError::DurationTooLong)?;
    if unit.is_empty() {
        return if number == 0 { Ok(Duration::ZERO) } else { Err(QuantityError::NoUnit(number)) };
    }
    let factor = DURATION_UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
        .ok_or_else(|| QuantityError::UnknownDurationUnit(unit.to_owned()))?;
    number
        .checked_mul(factor)
        .map(Duration::from_micros)
        .filter(|duration| *duration <= DEADLINE_MAX)
        .ok_or(QuantityError::DurationTooLong)
}

/// Parses a size in bytes: an integer and perhaps a unit in any case, as in `"16 KiB"`, `"64kb"`.
///
/// # Errors
///
/// If the text is not a size.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let (number, unit) = split(text).ok_or(QuantityError::NoNumber)?;
    let number = number.ok_or(QuantityError::SizeTooLarge)?;
    let factor = SIZE_UNITS
        .iter()
        .find(|(name, _)| unit.eq_ignore_ascii_case(name))
        .map(|(_, factor)| *factor)
        .ok_or_else(|| QuantityError::UnknownSizeUnit(unit.to_owned()))?;
    number.checked_mul(factor).ok_or(QuantityError::SizeTooLarge)
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

/// The number at the beginning of a text (the inner `None` if it is too large) and what follows, without blanks.
fn split(text: &str) -> Option<(Option<u64>, &str)> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    if number.is_empty() {
        return None;
    }
    Some((number.parse().ok(), unit.trim_start()))
}
