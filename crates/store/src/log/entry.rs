//! Entries of the log: the changes of one transaction, as bytes.
//!
//! Owns the format. An entry names its transaction and the previous entry, so that old
//! entries, which a power failure may bring back, are never mistaken for new ones. Each entry begins in a
//! new block, so that a block with an answered entry is never written again.

use crate::checksum::{sum, word};
use crate::failure::StoreFailure;
use crate::limits::{LOG_BLOCK, LOG_BUFFER};

/// Bytes of the header: checksum of the rest, length of the changes, transaction, transaction of the previous entry.
pub(super) const HEAD: usize = 32;

/// The kinds of changes.
const PUT: u8 = b'p';
const DELETE: u8 = b'd';
const CLEAR: u8 = b'c';
const PLACE: u8 = b'n';

/// A change of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logged<'e> {
    /// Writes a record, in the encoding of the file.
    Put(&'e [u8], &'e [u8]),
    Delete(&'e [u8]),
    /// Deletes all keys.
    Clear,
    /// The store has this place in its history: only in the log, where each entry has its own.
    Place(&'e [u8]),
}

/// The entry of the current transaction, while it is built.
#[derive(Debug, Default)]
pub(crate) struct Entry(Vec<u8>);

impl Entry {
    /// Removes all changes.
    pub(crate) fn reset(&mut self) {
        if self.0.capacity() > LOG_BUFFER {
            self.0 = Vec::new();
        }
        self.0.clear();
        self.0.resize(HEAD, 0);
    }

    /// Appends a change of a database.
    pub(crate) fn add(&mut self, database: &str, change: Logged<'_>) {
        let (kind, key, stored) = match change {
            Logged::Put(key, stored) => (PUT, key, stored),
            Logged::Delete(key) => (DELETE, key, &[][..]),
            Logged::Clear => (CLEAR, &[][..], &[][..]),
            Logged::Place(place) => (PLACE, &[][..], place),
        };
        self.0.push(kind);
        for part in [database.as_bytes(), key, stored] {
            let length = u32::try_from(part.len()).expect("names, keys and values are limited");
            self.0.extend(length.to_le_bytes());
            self.0.extend(part);
        }
    }

    /// Appends the place of the store in its history.
    pub(crate) fn add_place(&mut self, place: &[u8]) {
        self.add("", Logged::Place(place));
    }

    /// Appends changes that were encoded before.
    pub(crate) fn add_changes(&mut self, changes: &[u8]) {
        self.0.extend_from_slice(changes);
    }

    /// The encoded changes.
    pub(crate) fn change_bytes(&self) -> &[u8] {
        self.0.get(HEAD..).unwrap_or_default()
    }

    /// Whether the entry has no changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() <= HEAD
    }

    /// The encoded entry for that transaction, padded to whole blocks; `previous` is that of the entry before it.
    pub(crate) fn bytes(&mut self, transaction: u64, previous: u64) -> &[u8] {
        let length = (self.0.len() - HEAD) as u64;
        for (at, number) in [(8, length), (16, transaction), (24, previous)] {
            self.0[at..at + 8].copy_from_slice(&number.to_ne_bytes());
        }
        let sum = sum(&self.0[8..]);
        self.0[..8].copy_from_slice(&sum.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(LOG_BLOCK), 0);
        &self.0
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadEntry<'l> {
    pub(crate) transaction: u64,
    pub(crate) previous: u64,
    changes: &'l [u8],
}

impl<'l> ReadEntry<'l> {
    /// Parses the first entry, and returns the rest; `None` if it is incomplete.
    pub(crate) fn first(log: &'l [u8]) -> Option<(Self, &'l [u8])> {
        let length = usize::try_from(word(log.get(..HEAD)?, 8)).ok()?;
        let entry = log.get(..HEAD.checked_add(length)?)?;
        if word(entry, 0) != sum(&entry[8..]) {
            return None;
        }
        let (transaction, previous) = (word(entry, 16), word(entry, 24));
        let rest = log.get(entry.len().next_multiple_of(LOG_BLOCK)..).unwrap_or_default();
        Some((Self { transaction, previous, changes: &entry[HEAD..] }, rest))
    }

    /// The changes in order, each with the name of its database.
    pub(crate) fn changes(
        self,
    ) -> impl Iterator<Item = Result<(&'l str, Logged<'l>), StoreFailure>> {
        changes(self.changes)
    }
}

/// The changes that these bytes are, each with the name of its database.
pub(crate) fn changes(
    mut rest: &[u8],
) -> impl Iterator<Item = Result<(&str, Logged<'_>), StoreFailure>> {
    std::iter::from_fn(move || (!rest.is_empty()).then(|| change(&mut rest).ok_or_else(damaged)))
}

fn damaged() -> StoreFailure {
    StoreFailure::Storage(
        "its log or its leader has a change that this version does not know".to_owned(),
    )
}

fn change<'l>(rest: &mut &'l [u8]) -> Option<(&'l str, Logged<'l>)> {
    let (kind, parts) = std::mem::take(rest).split_first()?;
    let mut parts = parts;
    let (database, key, stored) = (part(&mut parts)?, part(&mut parts)?, part(&mut parts)?);
    *rest = parts;
    let change = match *kind {
        PUT => Logged::Put(key, stored),
        DELETE => Logged::Delete(key),
        CLEAR => Logged::Clear,
        PLACE => Logged::Place(stored),
        _ => return None,
    };
    Some((str::from_utf8(database).ok()?, change))
}

fn part<'l>(rest: &mut &'l [u8]) -> Option<&'l [u8]> {
    let (length, parts) = rest.split_first_chunk()?;
    let (part, parts) = parts.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = parts;
    Some(part)
}
