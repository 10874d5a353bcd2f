//! A value on its way from the store to a client.
//!
//! Owns the choice between a copy and a loan: a large value is sent from the map at the client's
//! pace and takes no memory.

use std::ops::Range;
use std::rc::Rc;

use runtime::clock::Now;
use runtime::output::{Referenced, SharedBytes};
use store::{Database, Failure, HeldSnapshot, LentValue, Order, Record, Snapshot};

use super::store_desk::StoreDesk;
use crate::limits::STORE_LENT_SIZE;

/// The bytes of a value.
#[derive(Debug)]
pub(crate) enum Given<'s> {
    /// Borrowed: copy them before the turn ends.
    Copied(&'s [u8]),
    /// Lent: queue them as they are.
    Lent(SharedBytes),
}

impl Given<'_> {
    /// The length of the value.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Copied(bytes) => bytes.len(),
            Self::Lent(shared) => shared.end - shared.start,
        }
    }

    /// Bytes of memory that sending the value takes.
    pub(crate) fn copied(&self) -> usize {
        match self {
            Self::Copied(bytes) => bytes.len(),
            Self::Lent(_) => 0,
        }
    }

    /// A range of the bytes, which must exist.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        match self {
            Self::Copied(bytes) => Self::Copied(bytes.get(range).unwrap_or_default()),
            Self::Lent(SharedBytes { bytes, start, .. }) => Self::Lent(SharedBytes {
                bytes,
                start: start + range.start,
                end: start + range.end,
            }),
        }
    }
}

impl StoreDesk {
    /// Reserves memory for the reply of an order, if it is large. Returns the reserved bytes.
    pub(crate) fn hold_reply_of(&mut self, order: &Order) -> Result<usize, Failure> {
        let size = self.snapshot()?.gives(order)?;
        self.held.hold(size)
    }

    /// Returns the value of a key in the snapshot of the turn.
    pub(crate) fn give<'s>(
        &self,
        snapshot: &'s Snapshot,
        (database, key): (Database, &[u8]),
        now: Now,
    ) -> Result<Option<Given<'s>>, Failure> {
        let record = snapshot.get(database, key, now.unix_ms())?;
        record.map(|record| self.give_record(&record, (database, key), now)).transpose()
    }

    /// Returns the value of a record that was read from the snapshot of the turn.
    pub(crate) fn give_record<'s>(
        &self,
        record: &Record<'s>,
        (database, key): (Database, &[u8]),
        now: Now,
    ) -> Result<Given<'s>, Failure> {
        give(record, || self.turn_store().lend(database, key, record.version, now.monotonic_ms()))
    }

    /// Returns the value of a key in a snapshot that is held.
    pub(crate) fn give_held<'s>(
        &self,
        held: &'s HeldSnapshot,
        (database, key): (Database, &[u8]),
        now: Now,
    ) -> Result<Option<Given<'s>>, Failure> {
        let Some(record) = held.snapshot().get(database, key, now.unix_ms())? else {
            return Ok(None);
        };
        let place = (database, key, record.version);
        give(&record, || self.turn_store().lend_from(held, place, now.monotonic_ms())).map(Some)
    }
}

/// Lends a large value, and copies a small one.
fn give<'s>(
    record: &Record<'s>,
    lend: impl FnOnce() -> Result<Option<LentValue>, Failure>,
) -> Result<Given<'s>, Failure> {
    let end = record.bytes.len();
    if end < STORE_LENT_SIZE {
        return Ok(Given::Copied(record.bytes));
    }
    Ok(match lend()? {
        Some(lent) => {
            let bytes = Referenced::Lent(Rc::new(lent));
            Given::Lent(SharedBytes { bytes, start: 0, end })
        }
        None => Given::Copied(record.bytes),
    })
}
