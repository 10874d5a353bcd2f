//! Why a text is not JSON for this server.
//!
//! Owns the words and the place. Never reads a text.

use std::fmt;

use crate::limits::JSON_NUMBER_SIZE;

/// Why a text is not JSON for this server, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonProblem {
    /// The kind of the problem.
    pub kind: ProblemKind,
    /// The byte at which it is noticed; the first one is 1.
    pub at: usize,
}

/// The problems of a text that should be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A byte that does not belong to UTF-8 (RFC 8259 section 8.1).
    NotUtf8,
    /// There is no value where one has to be.
    NoValue,
    /// Something follows the value.
    AfterValue,
    /// The text ends within a string.
    OpenString,
    /// A control character within a string (RFC 8259 section 7).
    Control,
    /// A backslash with a letter that is no escape.
    Escape,
    /// `\u` without four hexadecimal digits.
    Digits,
    /// No string where the name of a field has to be.
    NoName,
    /// No colon behind the name of a field.
    NoColon,
    /// Neither a comma nor the end of an array.
    NoArrayEnd,
    /// Neither a comma nor the end of an object.
    NoObjectEnd,
    /// More levels than this.
    TooDeep(usize),
    /// A number of more than [`JSON_NUMBER_SIZE`] bytes.
    LongNumber,
    /// A number that no 64-bit float can hold.
    LargeNumber,
}

// A text below states this number.
const _: () = assert!(JSON_NUMBER_SIZE == 1_000);

impl ProblemKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not UTF-8",
            Self::NoValue => "a value expected",
            Self::AfterValue => "something after the value",
            Self::OpenString => "the text ends within a string",
            Self::Control => "a control character within a string",
            Self::Escape => "not an escape",
            Self::Digits => "four hexadecimal digits expected",
            Self::NoName => "the name of a field expected",
            Self::NoColon => "':' expected",
            Self::NoArrayEnd => "',' or ']' expected",
            Self::NoObjectEnd => "',' or '}' expected",
            Self::TooDeep(_) => "too many levels",
            Self::LongNumber => "a number of more than 1000 bytes",
            Self::LargeNumber => "a number out of range",
        }
    }
}

impl fmt::Display for JsonProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ProblemKind::TooDeep(most) => {
                write!(out, "deeper than {most} levels at byte {}", self.at)
            }
            kind => write!(out, "{} at byte {}", kind.as_str(), self.at),
        }
    }
}

impl std::error::Error for JsonProblem {}
