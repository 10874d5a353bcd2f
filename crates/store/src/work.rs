//! The open transaction of the writer: what each step does.
//!
//! Owns the meaning of changes. The writer decides when to commit, and handles failures.

use heed::RwTxn;

use crate::change::{DatabaseChange, Expiry, ExpiryOnly, KeyTransfer, Old, Only, Pair};
use crate::decimal;
use crate::failure::{Misuse, StoreFailure};
use crate::limits::{ORDER_WORK_SIZE, TRANSACTION_WORK_SIZE, VALUE_SIZE};
use crate::log::{Entry, Logged};
use crate::order::{Database, Executed, Order, OrderCondition, StoreOperation};
use crate::outcome::StepOutcome;
use crate::query::number;
use crate::record::{Record, Value, ValueKind};
use crate::room::Room;
use crate::snapshot::table;
use crate::table::Table;

/// The metadata of a record before a change.
#[derive(Clone, Copy, Default)]
struct Before {
    /// The expiry in the file, even if it has passed.
    stored_expiry: Option<u64>,
    /// The version; 0 if the key does not exist.
    version: u64,
    /// The expiry; `None` if the key never expires or does not exist.
    expiry: Option<u64>,
}

impl Before {
    fn is_there(self) -> bool {
        self.version != 0
    }
}

/// The part of the writer that records changes for the log.
pub(crate) struct Logging<'w> {
    /// `None` if there is no log.
    pub(crate) entry: Option<&'w mut Entry>,
    pub(crate) names: &'w [String],
    /// The database that the current step changes.
    pub(crate) database: Database,
}

impl Logging<'_> {
    fn add(&mut self, change: Logged<'_>) {
        if let (Some(entry), Some(name)) =
            (&mut self.entry, self.names.get(usize::from(self.database.0)))
        {
            entry.add(name, change);
        }
    }
}

/// The open transaction.
pub(crate) struct Work<'m, 'w> {
    pub(crate) transaction: RwTxn<'m>,
    pub(crate) tables: &'w [Table],
    pub(crate) now_ms: u64,
    /// The version of the last change.
    pub(crate) version: u64,
    /// A buffer for the encoded record.
    pub(crate) buffer: &'w mut Vec<u8>,
    pub(crate) logging: Logging<'w>,
    pub(crate) room: Room<'w>,
    /// Bytes of stored values that the orders have copied so far.
    pub(crate) work: usize,
}

impl Work<'_, '_> {
    pub(crate) fn execute(&mut self, order: &Order) -> Result<Executed, StoreFailure> {
        for OrderCondition { database, key, version } in &order.conditions {
            if self.before(*table(self.tables, *database)?, key)?.version != *version {
                return Ok(Executed::Refused);
            }
        }
        let mut outcomes = Vec::with_capacity(order.steps.len());
        let mut work = 0;
        for (database, step) in &order.steps {
            if work > ORDER_WORK_SIZE || self.work > TRANSACTION_WORK_SIZE {
                return Err(StoreFailure::TooMuch);
            }
            let size = step.work(table(self.tables, *database)?, &self.transaction)?;
            work += size;
            self.work += size;
            self.room.take(step.growth(size))?;
            outcomes.push(self.step(*database, step)?);
        }
        Ok(Executed::Done(outcomes))
    }

    fn step(&mut self, of: Database, step: &StoreOperation) -> Result<StepOutcome, StoreFailure> {
        let table = *table(self.tables, of)?;
        self.logging.database = of;
        let change = match step {
            StoreOperation::Query(query) => {
                return query.answer(&table, &self.transaction, self.now_ms);
            }
            StoreOperation::Change(change) => change,
        };
        if let Err(misuse) = change.check() {
            return Ok(StepOutcome::Misuse(misuse));
        }
        match change {
            DatabaseChange::Put { key, value, expiry, only, old } => {
                self.put_one(table, key, value, *expiry, *only, *old)
            }
            DatabaseChange::PutAll { pairs, only } => self.put_all(table, pairs, *only),
            DatabaseChange::Delete(keys) => {
                let mut count = 0;
                for key in keys {
                    count += i64::from(self.delete(table, key)?);
                }
                Ok(StepOutcome::Number(count))
            }
            DatabaseChange::DeleteVersion(key, version) => {
                let is_it = self.before(table, key)?.version == *version;
                Ok(StepOutcome::Made(is_it && self.delete(table, key)?))
            }
            DatabaseChange::Take(key) => {
                let taken =
                    table.get(&self.transaction, key, self.now_ms)?.map(|record| record.to_entry());
                self.delete(table, key)?;
                Ok(StepOutcome::Value(taken))
            }
            DatabaseChange::Add(key, amount) => self.add(table, key, *amount),
            DatabaseChange::Append(key, bytes) => self.append(table, key, bytes),
            DatabaseChange::Overwrite(key, at, bytes) => self.overwrite(table, key, *at, bytes),
            DatabaseChange::AddDecimal(key, amount) => self.add_decimal(table, key, amount),
            DatabaseChange::Copy { from, to, only, source } => {
                self.copy(table, (from, to), *only, *source)
            }
            DatabaseChange::Expire { key, expiry, only } => {
                let before = self.before(table, key)?;
                let holds = before.is_there() && only.holds(before.expiry, *expiry);
                if holds {
                    self.expire(table, key, *expiry)?;
                }
                Ok(StepOutcome::Made(holds))
            }
            DatabaseChange::Touch(key, expiry) => {
                let value =
                    table.get(&self.transaction, key, self.now_ms)?.map(|record| record.to_entry());
                if value.is_some() {
                    self.expire(table, key, *expiry)?;
                }
                Ok(StepOutcome::Value(value))
            }
            DatabaseChange::ClearAll => self.clear_all(),
            DatabaseChange::Clear => {
                table.clear(&mut self.transaction)?;
                self.logging.add(Logged::Clear);
                Ok(StepOutcome::Made(true))
            }
        }
    }

    fn before(&self, table: Table, key: &[u8]) -> Result<Before, StoreFailure> {
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
        kind: ValueKind,
        bytes: &[u8],
        before: Before,
        expiry: Expiry,
    ) -> Result<(), StoreFailure> {
        let expiry_ms = match expiry {
            Expiry::Never => None,
            Expiry::Keep => before.expiry,
            Expiry::At(time) => Some(time),
        };
        self.version += 1;
        self.buffer.clear();
        Record { kind, version: self.version, expiry_ms, bytes }.encode(self.buffer);
        self.logging.add(Logged::Put(key, self.buffer));
        table.put(&mut self.transaction, key, self.buffer, (before.stored_expiry, expiry_ms))
    }

    fn put_one(
        &mut self,
        table: Table,
        key: &[u8],
        value: &Value,
        expiry: Expiry,
        only: Only,
        old: Old,
    ) -> Result<StepOutcome, StoreFailure> {
        let before = self.before(table, key)?;
        let given = match old {
            Old::Given => {
                table.get(&self.transaction, key, self.now_ms)?.map(|record| record.to_entry())
            }
            Old::Dropped => None,
        };
        if !only.holds(before) {
            return Ok(StepOutcome::Put(false, given));
        }
        self.put(table, key, value.kind, &value.bytes, before, expiry)?;
        Ok(StepOutcome::Put(true, given))
    }

    fn clear_all(&mut self) -> Result<StepOutcome, StoreFailure> {
        let of_clients = |(_, table): &(usize, &Table)| table.is_of_clients();
        for (number, table) in self.tables.iter().enumerate().filter(of_clients) {
            table.clear(&mut self.transaction)?;
            self.logging.database = Database(number as u8);
            self.logging.add(Logged::Clear);
        }
        Ok(StepOutcome::Made(true))
    }

    fn put_all(
        &mut self,
        table: Table,
        pairs: &[Pair],
        only: Only,
    ) -> Result<StepOutcome, StoreFailure> {
        for (key, _) in pairs {
            if !only.holds(self.before(table, key)?) {
                return Ok(StepOutcome::Made(false));
            }
        }
        for (key, bytes) in pairs {
            let before = self.before(table, key)?;
            self.put(table, key, ValueKind::Bytes, bytes, before, Expiry::Never)?;
        }
        Ok(StepOutcome::Made(true))
    }

    /// Returns whether the key existed.
    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool, StoreFailure> {
        let Some(record) = table.find(&self.transaction, key)? else { return Ok(false) };
        let (is_there, expiry) = (record.is_there(self.now_ms), record.expiry_ms);
        table.delete(&mut self.transaction, key, expiry)?;
        self.logging.add(Logged::Delete(key));
        Ok(is_there)
    }

    fn add(&mut self, table: Table, key: &[u8], amount: i64) -> Result<StepOutcome, StoreFailure> {
        let before = self.before(table, key)?;
        let present = table.get(&self.transaction, key, self.now_ms)?;
        let value = match present.map(|record| decimal::whole_number(record.bytes)) {
            None => 0,
            Some(Some(value)) => value,
            Some(None) => return Ok(StepOutcome::Misuse(Misuse::NotANumber)),
        };
        let Some(sum) = value.checked_add(amount) else {
            return Ok(StepOutcome::Misuse(Misuse::Overflow));
        };
        let text = sum.to_string();
        self.put(table, key, ValueKind::Number, text.as_bytes(), before, Expiry::Keep)?;
        Ok(StepOutcome::Number(sum))
    }

    fn append(
        &mut self,
        table: Table,
        key: &[u8],
        more: &[u8],
    ) -> Result<StepOutcome, StoreFailure> {
        let before = self.before(table, key)?;
        let present = table.get(&self.transaction, key, self.now_ms)?;
        let present = present.map_or(&b""[..], |record| record.bytes);
        if present.len() + more.len() > VALUE_SIZE {
            return Ok(StepOutcome::Misuse(Misuse::ValueSize));
        }
        let bytes = [present, more].concat();
        self.put(table, key, ValueKind::Bytes, &bytes, before, Expiry::Keep)?;
        Ok(StepOutcome::Number(number(bytes.len())))
    }

    fn overwrite(
        &mut self,
        table: Table,
        key: &[u8],
        at: usize,
        more: &[u8],
    ) -> Result<StepOutcome, StoreFailure> {
        let before = self.before(table, key)?;
        let present = table.get(&self.transaction, key, self.now_ms)?;
        let mut bytes = present.map_or(Vec::new(), |record| record.bytes.to_vec());
        if !more.is_empty() {
            let end = at + more.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[at..end].copy_from_slice(more);
            self.put(table, key, ValueKind::Bytes, &bytes, before, Expiry::Keep)?;
        }
        Ok(StepOutcome::Number(number(bytes.len())))
    }

    fn add_decimal(
        &mut self,
        table: Table,
        key: &[u8],
        amount: &[u8],
    ) -> Result<StepOutcome, StoreFailure> {
        let before = self.before(table, key)?;
        let present = table.get(&self.transaction, key, self.now_ms)?;
        let sum = match decimal::sum(present.map_or(b"0", |record| record.bytes), amount) {
            Ok(sum) => sum,
            Err(misuse) => return Ok(StepOutcome::Misuse(misuse)),
        };
        let kind = if decimal::whole_number(sum.as_bytes()).is_some() {
            ValueKind::Number
        } else {
            ValueKind::Bytes
        };
        self.put(table, key, kind, sum.as_bytes(), before, Expiry::Keep)?;
        let record = table.get(&self.transaction, key, self.now_ms)?;
        Ok(StepOutcome::Value(record.map(|record| record.to_entry())))
    }

    fn copy(
        &mut self,
        table: Table,
        (from, to): (&[u8], &[u8]),
        only: Only,
        source: KeyTransfer,
    ) -> Result<StepOutcome, StoreFailure> {
        let Some(record) = table.get(&self.transaction, from, self.now_ms)? else {
            return Ok(match source {
                KeyTransfer::Move => StepOutcome::Misuse(Misuse::NoSuchKey),
                KeyTransfer::Copy => StepOutcome::Made(false),
            });
        };
        let (kind, expiry, bytes) = (record.kind, record.expiry_ms, record.bytes.to_vec());
        let before = self.before(table, to)?;
        if !only.holds(before) {
            return Ok(StepOutcome::Made(false));
        }
        if from != to {
            let expiry = expiry.map_or(Expiry::Never, Expiry::At);
            self.put(table, to, kind, &bytes, before, expiry)?;
            if source == KeyTransfer::Move {
                self.delete(table, from)?;
            }
        }
        Ok(StepOutcome::Made(true))
    }

    /// Changes the expiry of an existing key.
    fn expire(&mut self, table: Table, key: &[u8], expiry: Expiry) -> Result<(), StoreFailure> {
        if matches!(expiry, Expiry::At(time) if time <= self.now_ms) {
            self.delete(table, key)?;
            return Ok(());
        }
        let before = self.before(table, key)?;
        let Some(record) = table.find(&self.transaction, key)? else { return Ok(()) };
        let is_same = match expiry {
            Expiry::Keep => true,
            Expiry::Never => record.expiry_ms.is_none(),
            // As in Redis, this invalidates WATCH even if the time stays the same.
            Expiry::At(_) => false,
        };
        if is_same {
            return Ok(());
        }
        let (kind, bytes) = (record.kind, record.bytes.to_vec());
        self.put(table, key, kind, &bytes, before, expiry)
    }
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
            Self::IfAnyAndSooner => before.is_some() && now_ms < before_ms,
        }
    }
}
