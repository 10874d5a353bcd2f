//! The result of a step.

use crate::failure::Misuse;
use crate::page::ScanPage;
use crate::record::{StoredEntry, ValueKind};

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// Whether the change was made; a condition may have prevented it.
    Made(bool),
    /// A count, a length or a sum.
    Number(i64),
    /// A value, if the key exists.
    Value(Option<StoredEntry>),
    /// Values in the order of the keys.
    Values(Vec<Option<StoredEntry>>),
    /// Whether the value was written, and the previous value.
    Put(bool, Option<StoredEntry>),
    /// The expiry of a key.
    Remaining(Remaining),
    /// The kind of a value, if the key exists.
    Kind(Option<ValueKind>),
    /// A page of keys.
    Page(ScanPage),
    /// The client asked for something impossible.
    Misuse(Misuse),
}

/// The expiry of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// The key does not exist.
    Missing,
    /// The key never expires.
    Endless,
    /// The key expires at this time.
    Until(u64),
}
