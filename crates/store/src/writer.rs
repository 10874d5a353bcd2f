//! The writer: many orders in one transaction.
//!
//! Owns when it commits, and how it handles failures. The version of a change is the number of its
//! transaction and its position in it.

mod durable;
mod expired;
mod full_disk;
mod member;
mod pieces;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::member::NotApplied;
use heed::RwTxn;

use crate::checkpoint::{Checkpoints, Keeper, WriteLock};
use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::load::{LoadFailure, LoadedRow, load};
use crate::log::{Entry, Log, LogFiles};
use crate::order::{Database, Executed, Order};
use crate::replication::{Continuation, LeaderClock, Ledger};
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
    map: Env,
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
    /// How commits continue the history of a store that has one.
    continuation: Option<Continuation>,
    /// That of the leader, if this store is a replica.
    clock: LeaderClock,
}

/// Does a part of an order. A panic is a defect of this crate, and fails that order only: its transaction is not
/// committed, and the others are executed again.
fn contain<T>(what: impl FnOnce() -> Result<T, StoreFailure>) -> Result<T, StoreFailure> {
    let panicked = |_| Err(StoreFailure::Storage("its writer panicked".to_owned()));
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(panicked)
}

impl Writer {
    pub(crate) fn new(
        (map, checkpoints, log): (Env, Arc<Checkpoints>, Option<Arc<LogFiles>>),
        (tables, names, versions): (Arc<[Table]>, Arc<[String]>, Versions),
        (size, times_full, reserve): (u64, Arc<AtomicU64>, Reserve),
        (ledger, clock): (Option<Ledger>, LeaderClock),
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
            continuation: ledger.map(Continuation::Marked),
            clock,
        }
    }

    /// Begins a transaction of the writer's map.
    fn begin<'m>(&mut self, map: &'m Env) -> Result<(WriteLock, RwTxn<'m>), StoreFailure> {
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
        let of_all = |failure| (None, failure);
        let (_lock, transaction) = self.begin(&map).map_err(of_all)?;
        if let Some(continuation) = &self.continuation
            && orders.iter().any(Order::changes)
        {
            continuation.check_leads(&transaction).map_err(of_all)?;
        }
        let room = Room::new(&self.map, &self.tables, self.size);
        let version = self.versions.before(transaction.id());
        let buffer = &mut self.buffer;
        let (tables, names) = (&self.tables, &self.names);
        self.entry.reset();
        let is_recorded = self.log.is_some() || self.continuation.is_some();
        let entry = is_recorded.then_some(&mut self.entry);
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
            let Work { transaction, version, .. } = work;
            self.write(transaction, (version, now_ms)).map_err(of_all)?;
        }
        Ok(executed)
    }

    /// Commits the transaction, whose last change has this version, with its record if the store has a history.
    fn write(
        &mut self,
        mut transaction: RwTxn<'_>,
        (version, now_ms): (u64, u64),
    ) -> Result<(), StoreFailure> {
        if let Some(continuation) = self.continuation.as_mut().filter(|_| !self.entry.is_empty()) {
            let about = (Versions::counted(version), now_ms);
            continuation.add(&mut self.entry, &mut transaction, about)?;
        }
        self.write_logged(transaction)
    }

    /// Commits the transaction; if there is a log, writes its entry first.
    fn write_logged(&mut self, transaction: RwTxn<'_>) -> Result<(), StoreFailure> {
        let done = self.write_entry(transaction);
        if let Some(continuation) = &mut self.continuation {
            continuation.settle(&done);
        }
        // Frees the memory of a large entry now, not with the next transaction.
        self.entry.reset();
        done
    }

    fn write_entry(&mut self, transaction: RwTxn<'_>) -> Result<(), StoreFailure> {
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
        let ledger = match &self.continuation {
            Some(continuation) => {
                continuation.check_leads(&transaction)?;
                Some(continuation.ledger())
            }
            None => None,
        };
        let room = Room::new(&self.map, &self.tables, self.size);
        load(transaction, &self.tables, room, (database, ledger), self.versions, rows)
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
