//! The writer: many orders in one transaction.
//!
//! Owns when it is committed, and what becomes of a failure. A version is the number of the transaction and of the change within it, so it is never used twice.

use std::sync::Arc;

use heed::{Env, RwTxn, WithTls};

use crate::failure::Failure;
use crate::limits::EXPIRED_PER_COMMIT;
use crate::load::{LoadFailure, Row, load};
use crate::order::{Database, Executed, Order};
use crate::scan::Cursors;
use crate::snapshot::table;
use crate::table::Table;
use crate::work::Work;

/// Bits of a version that count the changes of a transaction.
const CHANGE_BITS: u32 = 20;

/// Executes orders. It is for one thread.
pub struct Writer {
    map: Env<WithTls>,
    tables: Arc<[Table]>,
    /// Bytes that the file may have.
    size: u64,
    /// A record on its way into the file.
    buffer: Vec<u8>,
    cursors: Cursors,
}

impl Writer {
    pub(crate) fn new(map: Env<WithTls>, tables: Arc<[Table]>, size: u64) -> Self {
        Self { map, tables, size, buffer: Vec::new(), cursors: Cursors::default() }
    }

    /// Executes orders and commits them, all in one transaction; gives what became of each, in their order. Where that transaction fails,
    /// each is executed in one of its own, so that the one it failed for fails alone.
    pub fn execute(&mut self, orders: &[Order], now_ms: u64) -> Vec<Result<Executed, Failure>> {
        match self.commit(orders, now_ms) {
            Ok(executed) => executed,
            Err(failure) if orders.len() == 1 => vec![Err(failure)],
            Err(_) => orders.iter().map(|order| self.commit_one(order, now_ms)).collect(),
        }
    }

    fn commit_one(&mut self, order: &Order, now_ms: u64) -> Result<Executed, Failure> {
        let mut executed = self.commit(std::slice::from_ref(order), now_ms)?;
        executed.pop().unwrap_or(Ok(Executed::Refused))
    }

    fn commit(
        &mut self,
        orders: &[Order],
        now_ms: u64,
    ) -> Result<Vec<Result<Executed, Failure>>, Failure> {
        let map = self.map.clone();
        let transaction = map.write_txn()?;
        let room = Room { map: &self.map, tables: &self.tables, size: self.size };
        let version = (transaction.id() as u64) << CHANGE_BITS;
        let (buffer, cursors) = (&mut self.buffer, &mut self.cursors);
        let tables = &self.tables;
        let mut work = Work { transaction, tables, now_ms, version, buffer, cursors };
        let mut executed = Vec::with_capacity(orders.len());
        for order in orders {
            executed.push(if order.may_grow() && room.is_used_up(&work.transaction)? {
                Err(Failure::Full)
            } else {
                Ok(work.execute(order)?)
            });
        }
        if orders.iter().any(Order::changes) {
            work.transaction.commit()?;
        }
        Ok(executed)
    }

    /// Deletes keys whose time is over, a bounded number of each database; whether there may be more.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn delete_expired(&mut self, now_ms: u64) -> Result<bool, Failure> {
        // Most of the time there is nothing to delete, and a commit has its cost.
        let mut due = Vec::new();
        let snapshot = self.map.read_txn()?;
        for table in &*self.tables {
            if table.has_expired(&snapshot, now_ms)? {
                due.push(*table);
            }
        }
        drop(snapshot);
        if due.is_empty() {
            return Ok(false);
        }
        let mut transaction = self.map.write_txn()?;
        let mut is_left = false;
        for table in due {
            let deleted = table.delete_expired(&mut transaction, now_ms, EXPIRED_PER_COMMIT)?;
            is_left |= deleted == EXPIRED_PER_COMMIT;
        }
        transaction.commit()?;
        Ok(is_left)
    }

    /// Loads rows, all of them or none; gives how many. Nobody else writes meanwhile.
    ///
    /// # Errors
    /// When a row cannot be read or kept, or the store has no room.
    pub fn load<E>(
        &mut self,
        database: Database,
        rows: impl Iterator<Item = Result<Row, E>>,
    ) -> Result<u64, LoadFailure<E>> {
        load(&self.map, &self.tables, (database, CHANGE_BITS), rows)
    }

    /// Looks at all records of a database: how many there are, or what is wrong. Nobody writes meanwhile.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn check(&mut self, database: Database) -> Result<Result<u64, String>, Failure> {
        table(&self.tables, database)?.check(&self.map.write_txn()?)
    }

    /// Waits until all commits are on the disk.
    ///
    /// # Errors
    /// What the disk says.
    pub fn sync(&self) -> Result<(), Failure> {
        Ok(self.map.force_sync()?)
    }

    /// Frees the places of readers whose program has ended without doing so; how many.
    ///
    /// # Errors
    /// When the lock file cannot be read.
    pub fn free_dead_readers(&self) -> Result<usize, Failure> {
        Ok(self.map.clear_stale_readers()?)
    }
}

/// The room that the file has.
struct Room<'w> {
    map: &'w Env<WithTls>,
    tables: &'w [Table],
    size: u64,
}

impl Room<'_> {
    /// Whether there is none for more. The file does not shrink, so where it had its size once its pages that are used count.
    fn is_used_up(&self, transaction: &RwTxn<'_>) -> Result<bool, Failure> {
        let page_size = u64::from(self.map.unnamed_database_stat().page_size);
        if (self.map.info().last_page_number as u64 + 1) * page_size < self.size {
            return Ok(false);
        }
        let mut pages = 0;
        for table in self.tables {
            pages += table.pages(transaction)?;
        }
        Ok(pages * page_size >= self.size / 16 * 15)
    }
}
