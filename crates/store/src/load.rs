//! Bulk loading of rows.
//!
//! Owns that all rows are loaded or none: one transaction holds them all. Rows are sorted in memory, in
//! runs, before they are written: neighbouring keys go to pages that are already in memory, and
//! keys beyond the last one are appended without a search.

use heed::RwTxn;

use crate::change::{check, stored_size};
use crate::failure::{Misuse, StoreFailure};
use crate::limits::LOAD_PIECE_SIZE;
use crate::order::Database;
use crate::record::{Record, Value};
use crate::replication::{Ledger, mark};
use crate::room::Room;
use crate::snapshot::table;
use crate::table::Table;
use crate::versions::Versions;

/// A row to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedRow {
    /// The key. If several rows have the same key, the last one counts.
    pub key: Box<[u8]>,
    /// The value.
    pub value: Value,
    /// The expiry; `None` if the key never expires.
    pub expiry_ms: Option<u64>,
}

/// Why no row was loaded.
#[derive(Debug)]
pub enum LoadFailure<E> {
    /// The store failed or is full.
    Store(StoreFailure),
    /// A row, counted from 1, has a key or a value that the store does not accept.
    Row(u64, Misuse),
    /// The source of the rows failed.
    Source(E),
}

impl<E> From<StoreFailure> for LoadFailure<E> {
    fn from(failure: StoreFailure) -> Self {
        Self::Store(failure)
    }
}

/// A transaction that loads rows.
struct Loading<'l> {
    transaction: RwTxn<'l>,
    table: Table,
    version: u64,
    buffer: Vec<u8>,
}

pub(crate) fn load<E>(
    transaction: RwTxn<'_>,
    tables: &[Table],
    mut room: Room<'_>,
    (database, ledger): (Database, Option<Ledger>),
    versions: Versions,
    rows: impl Iterator<Item = Result<LoadedRow, E>>,
) -> Result<u64, LoadFailure<E>> {
    let table = *table(tables, database)?;
    // All rows belong to one change.
    let version = versions.before(transaction.id()) + 1;
    let mut loading = Loading { transaction, table, version, buffer: Vec::new() };
    let (mut piece, mut size, mut count) = (Vec::new(), 0, 0);
    for row in rows {
        let row = row.map_err(LoadFailure::Source)?;
        count += 1;
        check(&row.key, &row.value.bytes).map_err(|misuse| LoadFailure::Row(count, misuse))?;
        room.take(stored_size(&row.key, row.value.bytes.len()) as u64)?;
        size += size_of::<LoadedRow>() + row.key.len() + row.value.bytes.len();
        piece.push(row);
        if size >= LOAD_PIECE_SIZE {
            loading.write(std::mem::take(&mut piece))?;
            size = 0;
        }
    }
    loading.write(piece)?;
    if let Some(ledger) = ledger {
        mark(ledger, &mut loading.transaction)?;
    }
    loading.transaction.commit().map_err(StoreFailure::from)?;
    Ok(count)
}

impl Loading<'_> {
    fn write(&mut self, mut piece: Vec<LoadedRow>) -> Result<(), StoreFailure> {
        // The sort is stable, so rows with the same key keep their order.
        piece.sort_by(|left, right| left.key.cmp(&right.key));
        let last = self.table.records.last(&self.transaction)?.map(|(key, _)| key.to_vec());
        let is_behind = match (&last, piece.first()) {
            (Some(last), Some(first)) => **last < *first.key,
            _ => true,
        };
        let mut rows = piece.into_iter().peekable();
        while let Some(LoadedRow { key, value, expiry_ms }) = rows.next() {
            if rows.peek().is_some_and(|next| next.key == key) {
                continue;
            }
            self.buffer.clear();
            Record { kind: value.kind, version: self.version, expiry_ms, bytes: &value.bytes }
                .encode(&mut self.buffer);
            if is_behind {
                self.table.append(&mut self.transaction, &key, &self.buffer, expiry_ms)?;
                continue;
            }
            let before =
                self.table.find(&self.transaction, &key)?.and_then(|record| record.expiry_ms);
            self.table.put(&mut self.transaction, &key, &self.buffer, (before, expiry_ms))?;
        }
        Ok(())
    }
}
