//! A streamed answer.
//!
//! Owns its state: what its page waits for, and whether more will arrive. Its bytes belong to the
//! fetch.

use runtime::clock::nanoseconds;

use super::failure::Failure;
use super::request::Asked;

/// An answer that is read piece by piece.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) reader: Reader,
    pub(super) source: Source,
    /// How long a piece may take.
    pub(super) timeout_ns: u64,
}

/// What the page waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Head,
    Piece,
    /// Nothing: the page does something else.
    Nothing,
}

/// Whether more will arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Coming,
    /// Everything has arrived.
    Whole,
    /// Its end will not arrive.
    Broken(Failure),
}

impl Stream {
    pub(super) fn of(asked: &Asked) -> Self {
        let timeout_ns = nanoseconds(asked.timeout);
        Self { reader: Reader::Head, source: Source::Coming, timeout_ns }
    }
}
