//! The work of the writer when a transaction has found the disk full.
//!
//! Owns which orders get another try, what has to be committed before it, and what of the reserve is given up for it.
//! Never decides that the disk is full.

use std::sync::atomic::Ordering;

use super::{Done, Writer};
use crate::failure::StoreFailure;
use crate::order::{Database, Order};
use crate::snapshot::table;

impl Writer {
    /// The result of an order whose transaction failed: a full disk prevents no order that only deletes, nor one for
    /// which earlier ones have made room.
    pub(super) fn after_failure(
        &mut self,
        order: &Order,
        failure: StoreFailure,
        now_ms: u64,
    ) -> Done {
        if failure != StoreFailure::DiskFull {
            return Err(failure);
        }
        if order.growth() == 0 {
            return self.insist(|writer| writer.delete_without_log(order, now_ms));
        }
        if self.last_commit() == self.settled {
            return Err(failure);
        }
        self.settle_pages()?;
        self.try_one(order, now_ms)?
    }

    /// Deletes, also on a full disk. If pages can be made reusable, the deletion gets them; otherwise a snapshot keeps
    /// them, and it gets room from the reserve.
    pub(super) fn insist<T>(
        &mut self,
        mut delete: impl FnMut(&mut Self) -> Result<T, StoreFailure>,
    ) -> Result<T, StoreFailure> {
        let is_hindered =
            |done: &Result<T, StoreFailure>| matches!(done, Err(StoreFailure::DiskFull));
        let mut done = delete(self);
        if is_hindered(&done) && self.last_commit() != self.settled && self.settle_pages().is_ok() {
            done = delete(self);
        }
        while is_hindered(&done) && self.reserve.give() {
            // Schedulers take back lent values, whose snapshots keep pages.
            self.times_full.fetch_add(1, Ordering::Relaxed);
            done = delete(self);
        }
        self.reserve.take_back();
        done
    }

    /// Makes the pages reusable that the last commit has freed. LMDB gives them to the second transaction after it, so
    /// one without a change comes between; a checkpoint frees what the last one kept. On a full disk no order would
    /// ever commit that transaction, because each would need more pages than there are.
    fn settle_pages(&mut self) -> Result<(), StoreFailure> {
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
        if self.keeper.is_none() {
            return self.try_one(order, now_ms)?;
        }
        self.sync()?;
        let log = self.log.take();
        let executed = self.try_one(order, now_ms);
        self.log = log;
        let executed = executed?;
        self.sync()?;
        executed
    }
}
