//! Snapshots between stores: read by a leader's writer piece by piece, and written by that of a replica as a whole.
//!
//! Owns the order of pieces, and that a snapshot is written in one transaction. Never decides when one is needed.

use heed::RwTxn;

use super::Writer;
use super::member::{NotApplied, counted, named};
use crate::failure::StoreFailure;
use crate::limits::PIECE_SIZE;
use crate::log::{Entry, Logged, changes, repeat};
use crate::replication::{
    CommitRecord, Place, SnapshotCursor, SnapshotEnd, SnapshotPiece, SnapshotSpool, Spooled,
    Standing,
};
use crate::table::Table;

impl Writer {
    /// Replaces the whole store by a snapshot in one transaction, which ends at this position.
    ///
    /// # Errors
    /// If the snapshot is damaged or does not fit; the store is unchanged then.
    pub fn replace(
        &mut self,
        spool: &mut SnapshotSpool,
        end: &SnapshotEnd,
    ) -> Result<(), NotApplied> {
        let map = self.map.clone();
        let (lock, mut transaction) = self.begin(&map)?;
        for table in self.tables.iter() {
            table.clear(&mut transaction)?;
        }
        let top = write_snapshot(spool, &self.names, &self.tables, &mut transaction)?.max(end.top);
        let place = Place { position: end.position, top };
        let history = self.history()?;
        let heard = history.term().max(end.position.term);
        let standing = Standing { heard, leads: false, starts: end.starts.clone() };
        history.ledger().put_place(&mut transaction, &place.bytes())?;
        history.ledger().put_standing(&mut transaction, &standing)?;
        transaction.commit().map_err(|error| self.checkpoints.why_not_written(error))?;
        drop(lock);
        let history = self.history()?;
        history.stand(standing);
        history.move_to(place)?;
        Ok(self.settle_standing()?)
    }

    /// Reads a piece of a snapshot. Each piece shows the last commit, so no snapshot is held between two of them.
    ///
    /// # Errors
    /// If the file cannot be read, or the store has no history.
    pub fn piece(&mut self, cursor: &SnapshotCursor) -> Result<SnapshotPiece, StoreFailure> {
        let map = self.map.clone();
        let transaction = map.read_txn()?;
        let ledger = self.ledger()?;
        let place = ledger.place(&transaction)?.ok_or(StoreFailure::Replica)?;
        let Place { position, top } = place;
        let end = SnapshotEnd { position, top, starts: ledger.standing(&transaction)?.starts };
        let mut entry = Entry::default();
        entry.reset();
        let begin = self.names.iter().position(|name| *name == cursor.database).unwrap_or(0);
        let mut after = &cursor.key[..];
        let mut next = None;
        'all: for (name, table) in self.names.iter().zip(self.tables.iter()).skip(begin) {
            for found in table.stored_after(&transaction, after)? {
                let (key, stored) = found?;
                entry.add(name, Logged::Put(key, stored));
                if entry.change_bytes().len() >= PIECE_SIZE {
                    next = Some(SnapshotCursor { database: name.clone(), key: key.to_vec() });
                    break 'all;
                }
            }
            after = b"";
        }
        Ok(SnapshotPiece { end, changes: entry.change_bytes().to_vec(), next })
    }
}

/// Writes what a snapshot has. Returns the highest part of a version that counts transactions.
fn write_snapshot(
    spool: &mut SnapshotSpool,
    names: &[String],
    tables: &[Table],
    transaction: &mut RwTxn<'_>,
) -> Result<u64, NotApplied> {
    let mut top = 0;
    spool.read(|part| {
        let record;
        let bytes = match &part {
            Spooled::Piece(bytes) => &bytes[..],
            Spooled::Record(bytes) => {
                record = CommitRecord::decode(bytes).map_err(|_| NotApplied::Damaged)?;
                record.change_bytes()
            }
        };
        for change in changes(bytes) {
            let (name, change) = change.map_err(|_| NotApplied::Damaged)?;
            top = top.max(counted(change));
            repeat(named(names, tables, name)?, transaction, change)?;
        }
        Ok::<_, NotApplied>(())
    })?;
    Ok(top)
}
