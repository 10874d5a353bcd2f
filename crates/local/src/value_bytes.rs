//! A value on its way from the store to a client.
//!
//! Owns the choice between a copy and a loan: a large value is sent from the map at the client's
//! pace and takes no memory.

use std::ops::Range;
use std::rc::Rc;

use runtime::clock::Now;
use runtime::output::{Referenced, SharedBytes};
use store::{Database, HeldSnapshot, LentValue, Order, Record, Snapshot, StoreFailure};

use crate::limits::LENT_SIZE;
use crate::store_client::StoreClient;

/// The bytes of a value.
#[derive(Debug)]
pub enum ValueBytes<'s> {
    /// Borrowed: copy them before the turn ends.
    Copied(&'s [u8]),
    /// Lent: queue them as they are.
    Lent(SharedBytes),
}

impl ValueBytes<'_> {
    /// The length of the value.
    pub fn length(&self) -> usize {
        match self {
            Self::Copied(bytes) => bytes.len(),
            Self::Lent(shared) => shared.end - shared.start,
        }
    }

    /// Bytes of memory that sending the value takes.
    pub fn copied(&self) -> usize {
        match self {
            Self::Copied(bytes) => bytes.len(),
            Self::Lent(_) => 0,
        }
    }

    /// A range of the bytes, which must exist.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
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

impl StoreClient {
    /// Bytes of stored values that the reply to an order has, as they are now.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn reply_size(&self, order: &Order) -> Result<usize, StoreFailure> {
        self.snapshot()?.gives(order)
    }

    /// Returns the value of a key in the snapshot of the turn.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn give<'s>(
        &self,
        snapshot: &'s Snapshot,
        (database, key): (Database, &[u8]),
        now: Now,
    ) -> Result<Option<ValueBytes<'s>>, StoreFailure> {
        let record = snapshot.get(database, key, now.unix_ms())?;
        record.map(|record| self.give_record(&record, (database, key), now)).transpose()
    }

    /// Returns the value of a record that was read from the snapshot of the turn.
    ///
    /// # Errors
    /// If the value cannot be lent.
    pub fn give_record<'s>(
        &self,
        record: &Record<'s>,
        (database, key): (Database, &[u8]),
        now: Now,
    ) -> Result<ValueBytes<'s>, StoreFailure> {
        give(record, || self.turn_store().lend(database, key, record.version, now.monotonic_ms()))
    }

    /// Returns the value of a key in a snapshot that is held.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn give_held<'s>(
        &self,
        held: &'s HeldSnapshot,
        (database, key): (Database, &[u8]),
        now: Now,
    ) -> Result<Option<ValueBytes<'s>>, StoreFailure> {
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
    lend: impl FnOnce() -> Result<Option<LentValue>, StoreFailure>,
) -> Result<ValueBytes<'s>, StoreFailure> {
    let end = record.bytes.len();
    if end < LENT_SIZE {
        return Ok(ValueBytes::Copied(record.bytes));
    }
    Ok(match lend()? {
        Some(lent) => {
            let bytes = Referenced::Lent(Rc::new(lent));
            ValueBytes::Lent(SharedBytes { bytes, start: 0, end })
        }
        None => ValueBytes::Copied(record.bytes),
    })
}
