//! The record of a commit: what a leader's transaction changed, and its place in the history.
//!
//! Owns when it continues a history, and its bytes: a version, the term, the number, the hash of the record before, the
//! leader's time, the changes as the log has them, and the hash of all that. The hash detects damage and forks, not
//! tampering: whoever may send records may also write the store.

use super::bytes::{ByteReader, Coded, Cut};
use super::place::{LeaderTerm, StorePosition};
use crate::checksum::sum;
use crate::failure::StoreFailure;
use crate::log::{Logged, changes};
use crate::record::Record;

/// The version of the encoding.
const VERSION: u8 = 1;

/// Bytes of the hash at the end.
const HASH: usize = 8;

/// Why a record does not continue a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfollowed {
    /// It is there already, or it is another one with a number that is there.
    Known,
    /// Records before it are missing.
    Behind,
    /// It continues another history.
    Broken,
    /// It is of a term that has ended.
    Fenced,
}

/// A change in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedChange<'r> {
    /// The key has this value now.
    Put(&'r [u8], Record<'r>),
    /// The key was deleted.
    Delete(&'r [u8]),
    /// All keys of the database were.
    Clear,
}

/// A record, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitRecord<'r> {
    /// The term of the leader that wrote it.
    pub term: LeaderTerm,
    /// Its number, counted from 1.
    pub number: u64,
    /// The hash of the record before; the origin of the history for the first one.
    pub before: u64,
    /// The leader's time in milliseconds since 1970.
    pub time_ms: u64,
    changes: &'r [u8],
    /// The hash of the record.
    pub hash: u64,
}

impl<'r> CommitRecord<'r> {
    /// The bytes of a record with these changes.
    pub(crate) fn encode(
        (term, number, before): (LeaderTerm, u64, u64),
        time_ms: u64,
        changes: &[u8],
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + changes.len());
        out.push(VERSION);
        term.put(&mut out);
        [number, before, time_ms].iter().for_each(|part| part.put(&mut out));
        out.extend_from_slice(changes);
        sum(&out).put(&mut out);
        out
    }

    /// Reads a record from all of these bytes.
    ///
    /// # Errors
    /// If they are damaged, or of another version.
    pub fn decode(bytes: &'r [u8]) -> Result<Self, Cut> {
        let (hashed, hash) = bytes.split_last_chunk::<HASH>().ok_or(Cut)?;
        let hash = u64::from_le_bytes(*hash);
        let mut reader = ByteReader::new(hashed);
        if reader.u8()? != VERSION || sum(hashed) != hash {
            return Err(Cut);
        }
        Ok(Self {
            term: Coded::read(&mut reader)?,
            number: reader.u64()?,
            before: reader.u64()?,
            time_ms: reader.u64()?,
            changes: reader.rest(),
            hash,
        })
    }

    /// The position after this record, if the one before is this.
    pub(crate) fn after(&self, before: &StorePosition) -> Result<StorePosition, Unfollowed> {
        if self.number <= before.number {
            return Err(Unfollowed::Known);
        }
        if self.number > before.number + 1 {
            return Err(Unfollowed::Behind);
        }
        if self.term < before.term {
            return Err(Unfollowed::Fenced);
        }
        if self.before != before.hash {
            return Err(Unfollowed::Broken);
        }
        let Self { term, number, hash, .. } = *self;
        Ok(StorePosition { origin: before.origin, term, number, hash })
    }

    /// The changes, each with the name of its database.
    pub(crate) fn changes(
        &self,
    ) -> impl Iterator<Item = Result<(&'r str, Logged<'r>), StoreFailure>> + use<'r> {
        changes(self.changes)
    }

    /// The changes of keys, each with the name of its database.
    pub fn recorded(
        &self,
    ) -> impl Iterator<Item = Result<(&'r str, RecordedChange<'r>), StoreFailure>> + use<'r> {
        self.changes().map(|change| {
            let (database, change) = change?;
            let recorded = match change {
                Logged::Put(key, stored) => {
                    Record::decode(stored).map(|record| RecordedChange::Put(key, record))
                }
                Logged::Delete(key) => Some(RecordedChange::Delete(key)),
                Logged::Clear => Some(RecordedChange::Clear),
                Logged::Place(_) => None,
            };
            let unknown = || {
                StoreFailure::Storage(
                    "a record has a change that this version does not know".to_owned(),
                )
            };
            Ok((database, recorded.ok_or_else(unknown)?))
        })
    }

    /// The bytes of the changes.
    pub(crate) fn change_bytes(&self) -> &'r [u8] {
        self.changes
    }
}
