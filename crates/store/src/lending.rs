//! Values lent for longer than a turn, to connections that read slowly.
//!
//! Owns the time limit. LMDB keeps every page that the snapshot of a lent value sees, so the file
//! grows by everything that is written meanwhile. Therefore loans share snapshots, are taken back after a
//! time limit, and are taken back at once when the store is full.

use std::cell::Cell;
use std::fmt;
use std::rc::{Rc, Weak};

use crate::failure::StoreFailure;
use crate::limits::{LENT_SNAPSHOTS, LENT_TIME_MS, LENT_TOGETHER_MS};
use crate::order::Database;
use crate::snapshot::Snapshot;

/// A snapshot from which values can be lent.
pub(crate) struct Lender {
    pub(crate) snapshot: Snapshot,
    is_over: Cell<bool>,
}

impl Lender {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self { snapshot, is_over: Cell::new(false) }
    }
}

/// A value in the map that cannot move or change as long as this handle exists. After it is taken back it has no bytes.
pub struct LentValue {
    lender: Rc<Lender>,
    database: Database,
    key: Box<[u8]>,
}

impl AsRef<[u8]> for LentValue {
    fn as_ref(&self) -> &[u8] {
        if self.lender.is_over.get() {
            return b"";
        }
        // The key existed in this snapshot when the value was lent, so it still does.
        let found = self.lender.snapshot.find(self.database, &self.key);
        found.ok().flatten().map(|record| record.bytes).unwrap_or_default()
    }
}

impl fmt::Debug for LentValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.as_ref().len();
        out.debug_struct("LentValue").field("length", &length).finish_non_exhaustive()
    }
}

/// A snapshot from which at least one value is lent.
struct Loan {
    lender: Weak<Lender>,
    begun_ms: u64,
}

/// The loans of one thread.
#[derive(Default)]
pub(crate) struct Loans {
    /// Oldest first.
    loans: Vec<Loan>,
}

impl Loans {
    /// The number of snapshots from which values are lent.
    pub(crate) fn count(&mut self) -> usize {
        self.loans.retain(|loan| loan.lender.strong_count() > 0);
        self.loans.len()
    }

    /// Lends the value of a key that has this version: from a snapshot that is already used for loans, or from the
    /// snapshot of the turn. `None` if too many snapshots are in use.
    pub(crate) fn lend(
        &mut self,
        current: &Rc<Lender>,
        (database, key, version): (Database, &[u8], u64),
        now_ms: u64,
    ) -> Result<Option<LentValue>, StoreFailure> {
        let of = |lender: Rc<Lender>| Some(LentValue { lender, database, key: key.into() });
        let count = self.count();
        if let Some(last) = self.loans.last()
            && now_ms < last.begun_ms + LENT_TOGETHER_MS
            && let Some(lender) = last.lender.upgrade()
            && !lender.is_over.get()
            && lender.snapshot.find(database, key)?.is_some_and(|known| known.version == version)
        {
            return Ok(of(lender));
        }
        if count >= LENT_SNAPSHOTS {
            return Ok(None);
        }
        self.loans.push(Loan { lender: Rc::downgrade(current), begun_ms: now_ms });
        Ok(of(Rc::clone(current)))
    }

    /// Takes back loans that are older than the limit.
    pub(crate) fn take_back_old(&mut self, now_ms: u64) {
        self.take_back(|loan| now_ms >= loan.begun_ms + LENT_TIME_MS);
    }

    /// Takes back all loans.
    pub(crate) fn take_back_all(&mut self) {
        self.take_back(|_| true);
    }

    fn take_back(&mut self, is_due: impl Fn(&Loan) -> bool) {
        for loan in self.loans.iter().filter(|loan| is_due(loan)) {
            if let Some(lender) = loan.lender.upgrade() {
                lender.is_over.set(true);
            }
        }
    }
}
