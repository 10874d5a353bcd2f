//! Snapshots: the store as of one commit.
//!
//! Owns a read transaction. While it lives, LMDB keeps the pages it can see, so a long-lived one
//! makes the file grow.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use heed::{RoTxn, WithoutTls};

use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::order::{Database, Order};
use crate::outcome::StepOutcome;
use crate::query::Query;
use crate::record::Record;
use crate::replication::{move_outcome, moved};
use crate::table::Table;

/// The first and the last key of a database, if it has keys.
pub type Ends<K> = Option<(K, K)>;

/// The store as of one commit.
pub struct Snapshot {
    transaction: RoTxn<'static, WithoutTls>,
    tables: Arc<[Table]>,
    /// How far the clock by which keys expire is ahead of that of this program: not 0 in a replica only.
    ahead_ms: i64,
}

impl Snapshot {
    pub(crate) fn new(
        transaction: RoTxn<'static, WithoutTls>,
        tables: Arc<[Table]>,
        ahead_ms: i64,
    ) -> Self {
        Self { transaction, tables, ahead_ms }
    }

    /// Returns the value of a key, borrowed from the map.
    ///
    /// # Errors
    /// If the file cannot be read, or there is no such database.
    pub fn get(
        &self,
        database: Database,
        key: &[u8],
        now_ms: u64,
    ) -> Result<Option<Record<'_>>, StoreFailure> {
        let now_ms = moved(now_ms, self.ahead_ms);
        let record = table(&self.tables, database)?.get(&self.transaction, key, now_ms)?;
        Ok(record.map(|record| {
            let expiry_ms = record.expiry_ms.map(|time_ms| moved(time_ms, -self.ahead_ms));
            Record { expiry_ms, ..record }
        }))
    }

    /// Returns the record of a key, even if it has expired.
    pub(crate) fn find(
        &self,
        database: Database,
        key: &[u8],
    ) -> Result<Option<Record<'_>>, StoreFailure> {
        table(&self.tables, database)?.find(&self.transaction, key)
    }

    /// The records from a key on, in order.
    pub(crate) fn range(
        &self,
        database: Database,
        begin: Bound<&[u8]>,
    ) -> Result<impl Iterator<Item = Result<(&[u8], Record<'_>), StoreFailure>>, StoreFailure> {
        table(&self.tables, database)?.range(&self.transaction, begin)
    }

    pub(crate) fn first_and_last(&self, database: Database) -> Result<Ends<&[u8]>, StoreFailure> {
        let records = table(&self.tables, database)?.records;
        let (first, last) = (records.first(&self.transaction)?, records.last(&self.transaction)?);
        Ok(first.zip(last).map(|((first, _), (last, _))| (first, last)))
    }

    /// Bytes of stored values that the order would copy if it were executed now.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn work(&self, order: &Order) -> Result<usize, StoreFailure> {
        let mut size = 0;
        for (database, step) in &order.steps {
            size += step.work(table(&self.tables, *database)?, &self.transaction)?;
        }
        Ok(size)
    }

    /// Bytes of stored values that the order would return if it were executed now.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn gives(&self, order: &Order) -> Result<usize, StoreFailure> {
        let mut size = 0;
        for (database, step) in &order.steps {
            size += step.gives(table(&self.tables, *database)?, &self.transaction)?;
        }
        Ok(size)
    }

    /// The time of the clock by which keys expire.
    pub(crate) fn expiry_clock(&self, now_ms: u64) -> u64 {
        moved(now_ms, self.ahead_ms)
    }

    /// The number of the commit that the snapshot shows.
    pub fn commit(&self) -> u64 {
        self.transaction.id() as u64
    }

    /// Answers a query.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn answer(
        &self,
        database: Database,
        query: &Query,
        now_ms: u64,
    ) -> Result<StepOutcome, StoreFailure> {
        let now_ms = moved(now_ms, self.ahead_ms);
        let mut outcome =
            query.answer(table(&self.tables, database)?, &self.transaction, now_ms)?;
        if self.ahead_ms != 0 {
            move_outcome(&mut outcome, -self.ahead_ms);
        }
        Ok(outcome)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Snapshot").field("transaction", &self.transaction.id()).finish()
    }
}

pub(crate) fn table(tables: &[Table], database: Database) -> Result<&Table, StoreFailure> {
    tables
        .get(usize::from(database.0))
        .ok_or_else(|| StoreFailure::Storage(format!("there is no database number {}", database.0)))
}

/// The number of the commit that a snapshot taken now shows.
pub(crate) fn last_commit(map: &Env) -> u64 {
    // A program that is killed between writing LMDB's meta page and its counter leaves a commit that stays invisible
    // until the next program writes.
    let visible = map.read_txn().map(|snapshot| snapshot.id());
    visible.unwrap_or_else(|_no_place| map.info().last_txn_id) as u64
}
