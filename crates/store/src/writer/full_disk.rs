//! What the writer does when a transaction has found the disk full.
//!
//! Owns which orders get another try, and what has to be committed before it. Never decides that the disk is full.

use super::{Done, Writer};
use crate::failure::Failure;
use crate::order::{Database, Order};
use crate::snapshot::table;

impl Writer {
    /// The result of an order whose transaction failed: a full disk prevents no order that only deletes, nor one for
    /// which earlier ones have made room.
    pub(super) fn after_failure(&mut self, order: &Order, failure: Failure, now_ms: u64) -> Done {
        if failure != Failure::DiskFull {
            return Err(failure);
        }
        if order.growth() == 0 && self.keeper.is_some() {
            return self.delete_without_log(order, now_ms);
        }
        if order.growth() == 0 || self.last_commit() == self.settled {
            return Err(failure);
        }
        self.settle_pages()?;
        self.try_one(order, now_ms)?
    }

    /// Makes the pages reusable that the last commit has freed. LMDB gives them to the second transaction after it, so
    /// one without a change comes between; a checkpoint frees what the last one kept. On a full disk no order would
    /// ever commit that transaction, because each would need more pages than there are.
    fn settle_pages(&mut self) -> Result<(), Failure> {
        let map = self.map.clone();
        let (lock, mut transaction) = self.begin(&map)?;
        table(&self.tables, Database(0))?.dirty(&mut transaction)?;
        transaction.commit().map_err(|error| self.checkpoints.why_not_written(error))?;
        drop(lock);
        if self.keeper.is_some() {
            self.sync()?;
        }
        self.settled = self.last_commit();
        Ok(())
    }

    /// Deletes on a full disk, where the log cannot grow: a checkpoint makes the change durable instead of an entry.
    /// Another one before it frees the pages of the last one, which the transaction needs.
    pub(crate) fn delete_without_log(&mut self, order: &Order, now_ms: u64) -> Done {
        self.sync()?;
        let log = self.log.take();
        let executed = self.try_one(order, now_ms);
        self.log = log;
        let executed = executed?;
        self.sync()?;
        executed
    }
}
