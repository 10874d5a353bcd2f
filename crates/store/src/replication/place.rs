//! Terms and positions: where a store is in the history of its records.
//!
//! Owns their order and their bytes. Never reads a file.

use super::bytes::{ByteReader, Coded, Cut, coded};

/// Bytes of a position.
pub(crate) const POSITION: usize = 40;

/// The time of one leader. A later term ends all before it. Two replicas may be promoted at once, so a term also has
/// the number of the node that began it: one of the two is later, and ends the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaderTerm {
    /// Counted from 1; 0 before the first.
    pub number: u64,
    /// The node that began it.
    pub by: u64,
}

/// Where a store is: after one record of one history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorePosition {
    /// The number of the history, made when its first leader began. Stores with other histories never follow each
    /// other: a leader that has lost its disk must not empty its replicas.
    pub origin: u64,
    /// The term of the record.
    pub term: LeaderTerm,
    /// The number of the record, counted from 1; 0 before the first.
    pub number: u64,
    /// The hash of the record, which covers that of the one before, and so the whole history.
    pub hash: u64,
}

impl StorePosition {
    /// Before the first record of a new history.
    pub(crate) fn founded(origin: u64, term: LeaderTerm) -> Self {
        Self { origin, term, number: 0, hash: origin }
    }
}

impl LeaderTerm {
    /// The term that a node begins after this one.
    pub(crate) fn next(self, by: u64) -> Self {
        Self { number: self.number + 1, by }
    }
}

coded! {
    struct LeaderTerm { number, by }
    struct StorePosition { origin, term, number, hash }
}
