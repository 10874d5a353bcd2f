//! Why a text is not JSON for this server.
//!
//! Owns the words and the place. Never reads a text.

use crate::limits::JSON_NUMBER_SIZE;

/// Why a text is not JSON for this server, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {at}")]
pub struct JsonProblem {
    /// The kind of the problem.
    pub kind: ProblemKind,
    /// The byte at which it is noticed; the first one is 1.
    pub at: usize,
}

/// The problems of a text that should be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// A byte that does not belong to UTF-8 (RFC 8259 section 8.1).
    #[error("not UTF-8")]
    NotUtf8,
    /// There is no value where one has to be.
    #[error("a value expected")]
    NoValue,
    /// Something follows the value.
    #[error("something after the value")]
    AfterValue,
    /// The text ends within a string.
    #[error("the text ends within a string")]
    OpenString,
    /// A control character within a string (RFC 8259 section 7).
    #[error("a control character within a string")]
    Control,
    /// A backslash with a letter that is no escape.
    #[error("not an escape")]
    Escape,
    /// `\u` without four hexadecimal digits.
    #[error("four hexadecimal digits expected")]
    Digits,
    /// No string where the name of a field has to be.
    #[error("the name of a field expected")]
    NoName,
    /// No colon behind the name of a field.
    #[error("':' expected")]
    NoColon,
    /// Neither a comma nor the end of an array.
    #[error("',' or ']' expected")]
    NoArrayEnd,
    /// Neither a comma nor the end of an object.
    #[error("',' or '}}' expected")]
    NoObjectEnd,
    /// More levels than this.
    #[error("deeper than {0} levels")]
    TooDeep(usize),
    /// A number of more than [`JSON_NUMBER_SIZE`] bytes.
    #[error("a number of more than {JSON_NUMBER_SIZE} bytes")]
    LongNumber,
    /// A number that no 64-bit float can hold.
    #[error("a number out of range")]
    LargeNumber,
}
