//! The outcome of a fetch, and the number by which its caller knows it.
//!
//! Owns these types. Never fetches.

use super::answer::Answer;
use super::failure::Failure;

/// The number of a fetch, unique on its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number(pub u64);

/// The outcome of a fetch.
pub type FetchResult = (Number, Result<Got, Failure>);

/// What was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    /// The whole answer.
    Whole(Answer),
    /// The head of an answer that is read piece by piece ([`Client::read_on`](super::Client::read_on)).
    Head(Answer),
    /// A piece of its body.
    Piece(Vec<u8>),
    /// The end of its body.
    End,
}
