//! The result of a step.

use crate::failure::Misuse;
use crate::page::Page;
use crate::record::{Entry, Kind};

/// What a step has given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Whether the change was made: one with a condition may not be.
    Made(bool),
    /// A count, a length or a sum.
    Number(i64),
    /// A value, if it is there.
    Value(Option<Entry>),
    /// Values in the order of their keys.
    Values(Vec<Option<Entry>>),
    /// Whether the value was written, and the one before.
    Put(bool, Option<Entry>),
    /// How long a key is still there.
    Remaining(Remaining),
    /// The kind of a value, if it is there.
    Kind(Option<Kind>),
    /// A page of keys.
    Page(Page),
    /// A page of keys, and the number of the next; 0 where there is none.
    Scanned(Page, u64),
    /// The client has asked for what cannot be done.
    Misuse(Misuse),
}

/// How long a key is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// It is not there.
    Missing,
    /// Until somebody deletes it.
    Endless,
    /// Until then.
    Until(u64),
}
