//! The writer: many orders in one transaction.
//!
//! Owns what each change does. A version is the number of the transaction and of the change within it, so it is never used twice.

use std::sync::Arc;

use heed::{Env, RwTxn, WithTls};

use crate::change::{Change, Expiry, ExpiryOnly, Old, Only, Pair};
use crate::failure::{Failure, Misuse};
use crate::limits::{EXPIRED_PER_COMMIT, VALUE_SIZE};
use crate::order::{Condition, Database, Executed, Order, Step};
use crate::outcome::Outcome;
use crate::page::PageOf;
use crate::query::number;
use crate::record::{Kind, Record};
use crate::scan::Cursors;
use crate::snapshot::table;
use crate::table::Table;

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

/// The record that is there before a change, without its bytes.
#[derive(Clone, Copy, Default)]
struct Before {
    /// The expiry in the file, also of a record whose time is over.
    stored_expiry: Option<u64>,
    /// 0 where there is none.
    version: u64,
    /// `None` for never, and where there is none.
    expiry: Option<u64>,
}

impl Before {
    fn is_there(self) -> bool {
        self.version != 0
    }
}

/// A transaction that is being filled.
struct Work<'w> {
    transaction: RwTxn<'w>,
    tables: &'w [Table],
    now_ms: u64,
    /// Of the last change.
    version: u64,
    buffer: &'w mut Vec<u8>,
    cursors: &'w mut Cursors,
}

impl Work<'_> {
    fn execute(&mut self, order: &Order) -> Result<Executed, Failure> {
        for Condition { database, key, version } in &order.conditions {
            if self.before(*table(self.tables, *database)?, key)?.version != *version {
                return Ok(Executed::Refused);
            }
        }
        let mut outcomes = Vec::with_capacity(order.steps.len());
        for (database, step) in &order.steps {
            outcomes.push(self.step(*database, step)?);
        }
        Ok(Executed::Done(outcomes))
    }

    fn step(&mut self, database: Database, step: &Step) -> Result<Outcome, Failure> {
        let table = *table(self.tables, database)?;
        let change = match step {
            Step::Query(query) => return query.answer(&table, &self.transaction, self.now_ms),
            Step::Change(change) => change,
            Step::Scan(cursor, page) => return self.scan(&table, *cursor, page),
        };
        if let Err(misuse) = change.check() {
            return Ok(Outcome::Misuse(misuse));
        }
        match change {
            Change::Put { key, value, expiry, only, old } => {
                let before = self.before(table, key)?;
                let given = match old {
                    Old::Given => table
                        .get(&self.transaction, key, self.now_ms)?
                        .map(|record| record.to_entry()),
                    Old::Dropped => None,
                };
                if !only.holds(before) {
                    return Ok(Outcome::Put(false, given));
                }
                self.put(table, key, (value.kind, &value.bytes), (before, *expiry))?;
                Ok(Outcome::Put(true, given))
            }
            Change::PutAll { pairs, only } => self.put_all(table, pairs, *only),
            Change::Delete(keys) => {
                let mut count = 0;
                for key in keys {
                    count += i64::from(self.delete(table, key)?);
                }
                Ok(Outcome::Number(count))
            }
            Change::DeleteVersion(key, version) => {
                let is_it = self.before(table, key)?.version == *version;
                Ok(Outcome::Made(is_it && self.delete(table, key)?))
            }
            Change::Take(key) => {
                let taken =
                    table.get(&self.transaction, key, self.now_ms)?.map(|record| record.to_entry());
                self.delete(table, key)?;
                Ok(Outcome::Value(taken))
            }
            Change::Add(key, amount) => self.add(table, key, *amount),
            Change::Append(key, bytes) => self.append(table, key, bytes),
            Change::Expire { key, expiry, only } => {
                let before = self.before(table, key)?;
                let holds = before.is_there() && only.holds(before.expiry, *expiry);
                if holds {
                    self.expire(table, key, *expiry)?;
                }
                Ok(Outcome::Made(holds))
            }
            Change::Touch(key, expiry) => {
                let value =
                    table.get(&self.transaction, key, self.now_ms)?.map(|record| record.to_entry());
                if value.is_some() {
                    self.expire(table, key, *expiry)?;
                }
                Ok(Outcome::Value(value))
            }
            Change::Clear => {
                table.clear(&mut self.transaction)?;
                Ok(Outcome::Made(true))
            }
        }
    }

    fn scan(&mut self, table: &Table, cursor: u64, page: &PageOf) -> Result<Outcome, Failure> {
        let page = PageOf { after: self.cursors.key(cursor), ..page.clone() };
        let page = page.answer(table, &self.transaction, self.now_ms)?;
        let next = self.cursors.keep(page.next.as_deref());
        Ok(Outcome::Scanned(page, next))
    }

    fn before(&self, table: Table, key: &[u8]) -> Result<Before, Failure> {
        let Some(record) = table.find(&self.transaction, key)? else {
            return Ok(Before::default());
        };
        let stored_expiry = record.expiry_ms;
        if !record.is_there(self.now_ms) {
            return Ok(Before { stored_expiry, ..Before::default() });
        }
        Ok(Before { stored_expiry, version: record.version, expiry: stored_expiry })
    }

    fn put(
        &mut self,
        table: Table,
        key: &[u8],
        (kind, bytes): (Kind, &[u8]),
        (before, expiry): (Before, Expiry),
    ) -> Result<(), Failure> {
        let expiry_ms = match expiry {
            Expiry::Never => None,
            Expiry::Keep => before.expiry,
            Expiry::At(time) => Some(time),
        };
        self.version += 1;
        self.buffer.clear();
        Record { kind, version: self.version, expiry_ms, bytes }.encode(self.buffer);
        table.put(&mut self.transaction, key, self.buffer, (before.stored_expiry, expiry_ms))
    }

    fn put_all(&mut self, table: Table, pairs: &[Pair], only: Only) -> Result<Outcome, Failure> {
        for (key, _) in pairs {
            if !only.holds(self.before(table, key)?) {
                return Ok(Outcome::Made(false));
            }
        }
        for (key, bytes) in pairs {
            let before = self.before(table, key)?;
            self.put(table, key, (Kind::Bytes, bytes), (before, Expiry::Never))?;
        }
        Ok(Outcome::Made(true))
    }

    /// Whether the key was there.
    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool, Failure> {
        let Some(record) = table.find(&self.transaction, key)? else { return Ok(false) };
        let (is_there, expiry) = (record.is_there(self.now_ms), record.expiry_ms);
        table.delete(&mut self.transaction, key, expiry)?;
        Ok(is_there)
    }

    fn add(&mut self, table: Table, key: &[u8], amount: i64) -> Result<Outcome, Failure> {
        let before = self.before(table, key)?;
        let present = table.get(&self.transaction, key, self.now_ms)?;
        let value = match present.map(|record| whole_number(record.bytes)) {
            None => 0,
            Some(Some(value)) => value,
            Some(None) => return Ok(Outcome::Misuse(Misuse::NotANumber)),
        };
        let Some(sum) = value.checked_add(amount) else {
            return Ok(Outcome::Misuse(Misuse::Overflow));
        };
        let text = sum.to_string();
        self.put(table, key, (Kind::Number, text.as_bytes()), (before, Expiry::Keep))?;
        Ok(Outcome::Number(sum))
    }

    fn append(&mut self, table: Table, key: &[u8], more: &[u8]) -> Result<Outcome, Failure> {
        let before = self.before(table, key)?;
        let present = table.get(&self.transaction, key, self.now_ms)?;
        let bytes = [present.map_or(&b""[..], |record| record.bytes), more].concat();
        if bytes.len() > VALUE_SIZE {
            return Ok(Outcome::Misuse(Misuse::ValueSize));
        }
        self.put(table, key, (Kind::Bytes, &bytes), (before, Expiry::Keep))?;
        Ok(Outcome::Number(number(bytes.len())))
    }

    /// Changes the expiry of a key that is there.
    fn expire(&mut self, table: Table, key: &[u8], expiry: Expiry) -> Result<(), Failure> {
        if matches!(expiry, Expiry::At(time) if time <= self.now_ms) {
            self.delete(table, key)?;
            return Ok(());
        }
        let before = self.before(table, key)?;
        let Some(record) = table.find(&self.transaction, key)? else { return Ok(()) };
        let (kind, bytes) = (record.kind, record.bytes.to_vec());
        if expiry == Expiry::Keep {
            return Ok(());
        }
        self.put(table, key, (kind, &bytes), (before, expiry))
    }
}

/// A whole number as Redis takes it for one: no sign but a minus, no leading zeros, no spaces.
fn whole_number(bytes: &[u8]) -> Option<i64> {
    let number: i64 = str::from_utf8(bytes).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == bytes).then_some(number)
}

impl Only {
    fn holds(self, before: Before) -> bool {
        match self {
            Self::Always => true,
            Self::IfAbsent => !before.is_there(),
            Self::IfPresent => before.is_there(),
            Self::IfVersion(version) => before.version == version,
        }
    }
}

impl ExpiryOnly {
    fn holds(self, before: Option<u64>, expiry: Expiry) -> bool {
        let (before_ms, now_ms) = match expiry {
            Expiry::At(time) => (before.unwrap_or(u64::MAX), time),
            Expiry::Never | Expiry::Keep => (before.unwrap_or(u64::MAX), u64::MAX),
        };
        match self {
            Self::Always => true,
            Self::IfNone => before.is_none(),
            Self::IfAny => before.is_some(),
            Self::IfLater => now_ms > before_ms,
            Self::IfSooner => now_ms < before_ms,
        }
    }
}
