//! The writer: many orders in one transaction.
//!
//! Owns when it commits, and how it handles failures. The version of a change is the number of its
//! transaction and its position in it.

mod expired;
mod full_disk;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heed::{Env, RwTxn, WithoutTls};

use crate::checkpoint::{Checkpoint, Checkpoints, Keeper, MadeCheckpoint, WriteLock};
use crate::failure::StoreFailure;
use crate::limits::CHECKPOINT_GROWTH;
use crate::load::{LoadFailure, LoadedRow, load};
use crate::log::{Entry, Log, LogFiles};
use crate::order::{Database, Executed, Order};
use crate::reserve::Reserve;
use crate::room::{Fit, Room, file_size};
use crate::snapshot::{last_commit, table};
use crate::table::Table;
use crate::versions::Versions;
use crate::work::{Logging, Work};

/// The result of one order.
type Done = Result<Executed, StoreFailure>;

/// Executes orders, on one thread.
pub struct Writer {
    map: Env<WithoutTls>,
    tables: Arc<[Table]>,
    versions: Versions,
    /// Maximum bytes of the file.
    size: u64,
    /// How often a change failed for lack of space, or the file grew beyond its maximum because lent pages could not be
    /// reused.
    times_full: Arc<AtomicU64>,
    /// The last page ever used, after the previous transaction.
    last_page: usize,
    /// A buffer for encoded records.
    buffer: Vec<u8>,
    /// The names of the databases.
    names: Arc<[String]>,
    log: Option<Log>,
    /// The changes of the current transaction, for the log.
    entry: Entry,
    checkpoints: Arc<Checkpoints>,
    /// Present if commits do not wait for the disk and this program makes the checkpoints.
    keeper: Option<Keeper>,
    /// Bytes of the file when the last checkpoint started.
    checkpoint_size: u64,
    /// Whether the last orders found the store full.
    is_full: bool,
    /// The last commit whose freed pages can be reused, if the disk was full then.
    settled: u64,
    /// Room on the disk for deletions.
    reserve: Reserve,
}

/// Does a part of an order. A panic is a defect of this crate, and fails that order only: its transaction is not
/// committed, and the others are executed again.
fn contain<T>(what: impl FnOnce() -> Result<T, StoreFailure>) -> Result<T, StoreFailure> {
    let panicked = |_| Err(StoreFailure::Storage("its writer panicked".to_owned()));
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(panicked)
}

impl Writer {
    pub(crate) fn new(
        (map, checkpoints, log): (Env<WithoutTls>, Arc<Checkpoints>, Option<Arc<LogFiles>>),
        (tables, names, versions): (Arc<[Table]>, Arc<[String]>, Versions),
        (size, times_full, reserve): (u64, Arc<AtomicU64>, Reserve),
    ) -> Self {
        let (buffer, last_page) = (Vec::new(), usize::MAX);
        let keeper = Keeper::of(&checkpoints);
        Self {
            map,
            tables,
            versions,
            size,
            times_full,
            last_page,
            buffer,
            names,
            log: log.map(Log::new),
            entry: Entry::default(),
            checkpoints,
            keeper,
            checkpoint_size: 0,
            is_full: false,
            settled: 0,
            reserve,
        }
    }

    /// Begins a transaction of the writer's map.
    fn begin<'m>(
        &mut self,
        map: &'m Env<WithoutTls>,
    ) -> Result<(WriteLock, RwTxn<'m>), StoreFailure> {
        if let Some(keeper) = &mut self.keeper {
            keeper.begin(map)?;
        }
        self.checkpoints.begin(map)
    }

    /// Executes orders and commits them in one transaction. Returns the result of each, in order. If an order fails, it
    /// is left out and the others are executed again. If the commit fails, each order is executed in a transaction of
    /// its own. In a store that is almost full, the next transaction may reuse what the first one frees, so an order
    /// that does not fit begins another one.
    pub fn execute(
        &mut self,
        orders: &[Order],
        now_ms: u64,
    ) -> Vec<Result<Executed, StoreFailure>> {
        let mut executed = Vec::with_capacity(orders.len());
        while executed.len() < orders.len() {
            executed.extend(self.execute_most(&orders[executed.len()..], now_ms));
        }
        let has_no_room =
            |done: &Done| matches!(done, Err(StoreFailure::Full | StoreFailure::DiskFull));
        let is_full = self.has_grown_beyond() || executed.iter().any(has_no_room);
        if is_full {
            // Schedulers take back lent values, which makes room.
            self.times_full.fetch_add(1, Ordering::Relaxed);
        }
        self.is_full = is_full;
        self.reserve.keep_up(file_size(&self.map));
        executed
    }

    /// Whether the last transaction made the file grow beyond its maximum.
    fn has_grown_beyond(&mut self) -> bool {
        let before = self.last_page;
        self.last_page = self.map.info().last_page_number;
        self.last_page > before && file_size(&self.map) > self.size
    }

    /// Executes as many of the orders as one transaction can hold, at least one.
    fn execute_most(&mut self, mut orders: &[Order], now_ms: u64) -> Vec<Done> {
        let mut failures: Vec<Option<StoreFailure>> = vec![None; orders.len()];
        loop {
            match self.commit(orders, &failures, now_ms) {
                Ok(executed) => return executed,
                Err((Some(place), StoreFailure::Full)) if failures[..place].contains(&None) => {
                    orders = &orders[..place];
                }
                Err((Some(place), failure)) => failures[place] = Some(failure),
                Err((None, failure)) if orders.len() == 1 => {
                    return vec![self.after_failure(&orders[0], failure, now_ms)];
                }
                Err((None, _)) => {
                    return orders.iter().map(|order| self.commit_one(order, now_ms)).collect();
                }
            }
        }
    }

    fn commit_one(&mut self, order: &Order, now_ms: u64) -> Done {
        self.try_one(order, now_ms)
            .unwrap_or_else(|failure| self.after_failure(order, failure, now_ms))
    }

    /// Executes an order in a transaction of its own. The error is that of the transaction.
    fn try_one(&mut self, order: &Order, now_ms: u64) -> Result<Done, StoreFailure> {
        let executed = self.commit(std::slice::from_ref(order), &[None], now_ms);
        let mut executed = executed.map_err(|(_, failure)| failure)?;
        Ok(executed.pop().unwrap_or(Ok(Executed::Refused)))
    }

    /// Executes the orders that have not failed yet, as far as there is room in one transaction. The error names the
    /// order that failed, or none if the transaction did.
    fn commit(
        &mut self,
        orders: &[Order],
        failures: &[Option<StoreFailure>],
        now_ms: u64,
    ) -> Result<Vec<Done>, (Option<usize>, StoreFailure)> {
        let map = self.map.clone();
        let (_lock, transaction) = self.begin(&map).map_err(|failure| (None, failure))?;
        let room = Room::new(&self.map, &self.tables, self.size);
        let version = self.versions.before(transaction.id());
        let buffer = &mut self.buffer;
        let (tables, names) = (&self.tables, &self.names);
        self.entry.reset();
        let entry = self.log.is_some().then_some(&mut self.entry);
        let logging = Logging { entry, names, database: Database(0) };
        let mut work =
            Work { transaction, tables, now_ms, version, buffer, logging, room, work: 0 };
        let mut executed = Vec::with_capacity(orders.len());
        let mut has_changed = false;
        for (place, (order, failure)) in orders.iter().zip(failures).enumerate() {
            let of_it = |failure| (Some(place), failure);
            if let Some(failure) = failure {
                executed.push(Err(failure.clone()));
                continue;
            }
            let fit = contain(|| match order.growth() {
                0 => Ok(Fit::Now),
                growth => work.room.fit(growth),
            });
            let fit = fit.map_err(of_it)?;
            match fit {
                Fit::Now => executed.push(Ok(contain(|| work.execute(order)).map_err(of_it)?)),
                Fit::Impossible => executed.push(Err(StoreFailure::LargerThanStore)),
                Fit::Alone | Fit::Never if has_changed => break,
                Fit::Alone | Fit::Never => executed.push(Err(StoreFailure::Full)),
            }
            has_changed |= fit == Fit::Now && order.changes();
        }
        if has_changed {
            let Work { transaction, .. } = work;
            self.write(transaction).map_err(|failure| (None, failure))?;
        }
        Ok(executed)
    }

    /// Commits the transaction; if there is a log, writes its entry first.
    fn write(&mut self, transaction: RwTxn<'_>) -> Result<(), StoreFailure> {
        let log = self.log.as_mut().filter(|_| !self.entry.is_empty());
        let Some(log) = log else {
            return transaction.commit().map_err(|error| self.checkpoints.why_not_written(error));
        };
        let mut done = log.append(&mut self.entry, transaction.id() as u64);
        if done.is_ok()
            && let Err(error) = transaction.commit()
        {
            done = log.take_back().and(Err(self.checkpoints.why_not_written(error)));
        }
        if let (Err(failure), Some(keeper)) = (&done, &mut self.keeper) {
            keeper.on_log_failure(failure);
        }
        // Frees the memory of a large entry now, not with the next transaction.
        self.entry.reset();
        done
    }

    /// Loads rows, all or none. Returns how many. Other writers wait meanwhile.
    ///
    /// # Errors
    /// If a row cannot be read or stored, or the store is full.
    pub fn load<E>(
        &mut self,
        database: Database,
        rows: impl Iterator<Item = Result<LoadedRow, E>>,
    ) -> Result<u64, LoadFailure<E>> {
        let map = self.map.clone();
        let (_lock, transaction) = self.begin(&map)?;
        let room = Room::new(&self.map, &self.tables, self.size);
        load(transaction, &self.tables, room, database, self.versions, rows)
    }

    /// Checks all records of a database. Returns how many there are, or what is wrong. Other writers wait meanwhile.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn check(&mut self, database: Database) -> Result<Result<u64, String>, StoreFailure> {
        let map = self.map.clone();
        let (_lock, transaction) = self.begin(&map)?;
        table(&self.tables, database)?.check(&transaction)
    }

    /// The number of the last commit of any program.
    pub fn last_commit(&self) -> u64 {
        last_commit(&self.map)
    }

    /// Makes all commits durable: after a power failure the store returns to this state or a later one.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&mut self) -> Result<(), StoreFailure> {
        match &mut self.keeper {
            Some(keeper) => {
                self.checkpoint_size = file_size(&self.map);
                let checkpoint = keeper.next(&self.map)?;
                keeper.hurry();
                self.turn_log();
                self.end_checkpoint(checkpoint.wait())
            }
            None => Ok(self.map.force_sync()?),
        }
    }

    /// Starts what [`Writer::sync`] does, so that another thread can wait for it. `None` if there is nothing to do.
    ///
    /// # Errors
    /// If the table of readers is full.
    pub fn begin_checkpoint(&mut self) -> Result<Option<Checkpoint>, StoreFailure> {
        if !self.is_unsynced() {
            return Ok(None);
        }
        self.checkpoint_size = file_size(&self.map);
        self.is_full = false;
        let next = self.keeper.as_ref().map(|keeper| keeper.next(&self.map)).transpose()?;
        self.turn_log();
        Ok(next)
    }

    /// A checkpoint of all current log entries starts.
    fn turn_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.turn();
        }
    }

    /// Speeds up a running checkpoint by skipping its pauses, because the caller waits for it.
    pub fn hurry(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.hurry();
        }
    }

    /// Completes a checkpoint, or takes the reason why it failed. After any failure except a full disk nothing is
    /// written any more, because the kernel may show data that the disk does not have. The store returns to its last
    /// checkpoint when it is opened again.
    ///
    /// # Errors
    /// The failure that it was given.
    pub fn end_checkpoint(
        &mut self,
        made: Result<MadeCheckpoint, StoreFailure>,
    ) -> Result<(), StoreFailure> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        let commit = keeper.end(made)?;
        if let Some(log) = &mut self.log {
            log.keep_up(commit);
        }
        Ok(())
    }

    /// Whether a checkpoint should start now, because the file, the log or the store's free space requires it.
    pub fn wants_checkpoint(&self) -> bool {
        let growth = file_size(&self.map).saturating_sub(self.checkpoint_size);
        let is_long = self.log.as_ref().is_some_and(Log::is_long);
        self.is_unsynced() && (self.is_full || is_long || growth >= CHECKPOINT_GROWTH)
    }

    /// Whether there are commits of any program that [`Writer::sync`] would make durable.
    pub fn is_unsynced(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| keeper.commit() < self.last_commit())
    }

    /// [`Writer::sync`] for a writer that stops: the file needs no checkpoint afterwards, and can be copied.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn finish(&mut self) -> Result<(), StoreFailure> {
        match &mut self.keeper {
            Some(keeper) => {
                keeper.finish()?;
                self.log.as_mut().map_or(Ok(()), Log::clear)
            }
            None => Ok(self.map.force_sync()?),
        }
    }

    /// Frees the snapshots of programs that ended without doing so. Returns how many. If another program makes the
    /// checkpoints, this is left to it: that program may be killed at any time, and its snapshot must not be freed
    /// before its checkpoint is removed.
    ///
    /// # Errors
    /// If the lock file cannot be read.
    pub fn free_dead_readers(&self) -> Result<usize, StoreFailure> {
        if self.checkpoints.settle()? {
            return Ok(0);
        }
        Ok(self.map.clear_stale_readers()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_of_its_order() {
        let failure = contain::<Executed>(|| panic!("on purpose")).unwrap_err();
        assert_eq!(failure.to_string(), "the store failed: its writer panicked");
        assert_eq!(contain(|| Ok(Executed::Refused)), Ok(Executed::Refused));
    }
}
