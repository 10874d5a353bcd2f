//! Snapshots: the store as of a commit.
//!
//! Owns a read transaction. While it lives, LMDB keeps the pages it can see, so a long-lived one
//! makes the file grow.

use std::fmt;
use std::sync::Arc;

use heed::{RoTxn, WithoutTls};

use crate::failure::Failure;
use crate::order::{Database, Order};
use crate::outcome::Outcome;
use crate::query::Query;
use crate::record::Record;
use crate::table::Table;

/// The store at one moment.
pub struct Snapshot {
    transaction: RoTxn<'static, WithoutTls>,
    tables: Arc<[Table]>,
}

impl Snapshot {
    pub(crate) fn new(transaction: RoTxn<'static, WithoutTls>, tables: Arc<[Table]>) -> Self {
        Self { transaction, tables }
    }

    /// The value of a key, lent from the map.
    ///
    /// # Errors
    /// When the file cannot be read, or has no such database.
    pub fn get(
        &self,
        database: Database,
        key: &[u8],
        now_ms: u64,
    ) -> Result<Option<Record<'_>>, Failure> {
        table(&self.tables, database)?.get(&self.transaction, key, now_ms)
    }

    /// The record of a key, also when its time is over.
    pub(crate) fn find(
        &self,
        database: Database,
        key: &[u8],
    ) -> Result<Option<Record<'_>>, Failure> {
        table(&self.tables, database)?.find(&self.transaction, key)
    }

    /// Bytes of values that an order would copy, if it were executed now.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn work(&self, order: &Order) -> Result<usize, Failure> {
        let mut size = 0;
        for (database, step) in &order.steps {
            size += step.work(table(&self.tables, *database)?, &self.transaction)?;
        }
        Ok(size)
    }

    /// Bytes of values that an order would give, if it were executed now.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn gives(&self, order: &Order) -> Result<usize, Failure> {
        let mut size = 0;
        for (database, step) in &order.steps {
            size += step.gives(table(&self.tables, *database)?, &self.transaction)?;
        }
        Ok(size)
    }

    /// The number of the commit that it shows.
    #[must_use]
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
    ) -> Result<Outcome, Failure> {
        query.answer(table(&self.tables, database)?, &self.transaction, now_ms)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Snapshot").field("transaction", &self.transaction.id()).finish()
    }
}

pub(crate) fn table(tables: &[Table], database: Database) -> Result<&Table, Failure> {
    tables
        .get(usize::from(database.0))
        .ok_or_else(|| Failure::Storage(format!("there is no database number {}", database.0)))
}
