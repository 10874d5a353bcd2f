//! Formats the outcome of a step as a reply.
//!
//! Owns the formats. Never reads the store.

use std::ops::Range;

use local::ValueBytes;
use store::{Misuse, Remaining, StepOutcome, StoreFailure, StoredEntry};
use wire::resp::{
    RespVersion, write_array, write_bulk, write_error, write_integer, write_null, write_simple,
};

/// The format of a command's reply.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// `OK`.
    Ok,
    /// `OK`, or null if the change was not made.
    OkOrNull,
    /// The previous value, or null.
    Old,
    /// 1 if the change was made, otherwise 0.
    Flag,
    /// A number.
    Number,
    /// A value, or null.
    Bulk,
    /// Null if there is no value, otherwise this error.
    NullOrError(String),
    /// Values.
    Bulks,
    /// The time until a key expires.
    Left(Unit),
    /// The time at which a key expires.
    End(Unit),
    /// The name of a type.
    Type,
    /// The bytes from a first to a last index; negative indices count from the end.
    Range(i64, i64),
}

/// The unit of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

impl Shape {
    /// The part of the value of a key that a reply in this form has, if the key exists.
    #[inline]
    pub(super) fn of_value<'v>(&self, value: Option<ValueBytes<'v>>) -> Option<ValueBytes<'v>> {
        let Self::Range(first, last) = self else { return value };
        let value = value.unwrap_or(ValueBytes::Copied(b""));
        let range = part(value.length(), *first, *last);
        Some(value.part(range))
    }

    /// Writes the reply. `told` is the protocol version and the current time.
    pub(super) fn write(
        &self,
        outcome: &StepOutcome,
        (version, now_ms): (RespVersion, u64),
        out: &mut Vec<u8>,
    ) {
        match (self, outcome) {
            (_, StepOutcome::Misuse(misuse)) => write_error(out, &text_of(*misuse)),
            (Self::Ok, _) => write_simple(out, "OK"),
            (Self::OkOrNull, StepOutcome::Put(true, _)) => write_simple(out, "OK"),
            (Self::OkOrNull, _) => write_null(out, version),
            (Self::Old, StepOutcome::Put(_, entry)) => write_entry(out, entry.as_ref(), version),
            (Self::Bulk | Self::Range(..), StepOutcome::Value(entry)) => {
                let value = entry.as_ref().map(|entry| ValueBytes::Copied(&entry.bytes));
                match self.of_value(value) {
                    Some(ValueBytes::Copied(bytes)) => write_bulk(out, bytes),
                    // The writer lends nothing.
                    Some(ValueBytes::Lent(_)) | None => write_null(out, version),
                }
            }
            (Self::NullOrError(text), StepOutcome::Value(Some(_))) => write_error(out, text),
            (Self::NullOrError(_), StepOutcome::Value(None)) => write_null(out, version),
            (Self::Flag, StepOutcome::Put(made, _) | StepOutcome::Made(made)) => {
                write_integer(out, i64::from(*made));
            }
            (Self::Number, StepOutcome::Number(number)) => write_integer(out, *number),
            (Self::Bulks, StepOutcome::Values(entries)) => {
                write_array(out, entries.len());
                for entry in entries {
                    write_entry(out, entry.as_ref(), version);
                }
            }
            (Self::Left(unit), StepOutcome::Remaining(remaining)) => {
                write_integer(out, time(*remaining, *unit, now_ms));
            }
            (Self::End(unit), StepOutcome::Remaining(remaining)) => {
                write_integer(out, time(*remaining, *unit, 0));
            }
            (Self::Type, StepOutcome::Kind(kind)) => {
                write_simple(out, if kind.is_some() { "string" } else { "none" });
            }
            (shape, outcome) => {
                write_error(out, &format!("ERR {outcome:?} is no outcome of {shape:?}"))
            }
        }
    }
}

fn write_entry(out: &mut Vec<u8>, entry: Option<&StoredEntry>, version: RespVersion) {
    match entry {
        Some(entry) => write_bulk(out, &entry.bytes),
        None => write_null(out, version),
    }
}

/// The error of a store that has failed. Redis clients take `OOM` for a server that refuses writes but still serves
/// reads.
pub(super) fn write_failure(out: &mut Vec<u8>, failure: &StoreFailure) {
    let code = match failure {
        StoreFailure::Full | StoreFailure::LargerThanStore | StoreFailure::DiskFull => "OOM",
        StoreFailure::Replica => "READONLY",
        StoreFailure::LeaderAway => "MASTERDOWN",
        StoreFailure::TooManyReaders
        | StoreFailure::LeaderSilent
        | StoreFailure::TooMuch
        | StoreFailure::InUse
        | StoreFailure::Storage(_) => "ERR",
    };
    write_error(out, &format!("{code} {failure}"));
}

/// Redis' error text.
pub(super) fn text_of(misuse: Misuse) -> String {
    match misuse {
        Misuse::ValueSize => "ERR string exceeds maximum allowed size (16 MiB)".to_owned(),
        misuse => format!("ERR {misuse}"),
    }
}

/// Maximum bytes of a word in an error text.
pub(super) const SHOWN_BYTES: usize = 128;

/// The part of a word that error texts show: its beginning.
pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned()
}

/// Rounded as Redis does; -2 if the key does not exist, -1 if it never expires.
fn time(remaining: Remaining, unit: Unit, now_ms: u64) -> i64 {
    let left_ms = match remaining {
        Remaining::Missing => return -2,
        Remaining::Endless => return -1,
        Remaining::Until(end_ms) => end_ms.saturating_sub(now_ms),
    };
    let left = match unit {
        Unit::Milliseconds => left_ms,
        Unit::Seconds => left_ms.saturating_add(500) / 1000,
    };
    i64::try_from(left).unwrap_or(i64::MAX)
}

/// The range of bytes from a first to a last index, both inclusive, of a value of this length; negative indices count
/// from the end.
fn part(length: usize, first: i64, last: i64) -> Range<usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = |at: i64| if at < 0 { at.saturating_add(length).max(0) } else { at };
    if first < 0 && last < 0 && first > last {
        return 0..0;
    }
    let (first, last) = (place(first), place(last).min(length - 1));
    let range = usize::try_from(first).ok().zip(usize::try_from(last + 1).ok());
    range.filter(|(first, end)| first < end).map_or(0..0, |(first, end)| first..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_cut_as_redis_cuts_them() {
        for (first, last, expected) in [
            (0, 3, "This"),
            (-3, -1, "ing"),
            (0, -1, "This is a string"),
            (10, 100, "string"),
            (5, 4, ""),
            (-1, -3, ""),
            (-100, 1, "Th"),
            (100, 200, ""),
            (i64::MIN, i64::MAX, "This is a string"),
        ] {
            let text = "This is a string";
            assert_eq!(&text[part(text.len(), first, last)], expected, "{first} {last}");
        }
        assert_eq!(part(0, 0, -1), 0..0);
    }
}
