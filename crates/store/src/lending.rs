//! Values lent for longer than a turn, to connections that read slowly.
//!
//! Owns how long. A lent value stays in the file, and so does everything that its snapshot sees, so
//! the file grows by what is written meanwhile. Therefore loans share snapshots, end after some
//! time, and end at once when the store is full.

use std::cell::Cell;
use std::fmt;
use std::rc::{Rc, Weak};

use crate::failure::Failure;
use crate::limits::{LENT_SNAPSHOTS, LENT_TIME_MS, LENT_TOGETHER_MS};
use crate::order::Database;
use crate::snapshot::Snapshot;

/// A snapshot that may be lent.
pub(crate) struct Lender {
    pub(crate) snapshot: Snapshot,
    is_over: Cell<bool>,
}

impl Lender {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self { snapshot, is_over: Cell::new(false) }
    }
}

/// A value in the map that stays where it is for as long as this is there. It has no bytes any more once it is taken back.
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
        // The snapshot had it when it was lent, so it still has.
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

/// A snapshot from which something was lent.
struct Loan {
    lender: Weak<Lender>,
    begun_ms: u64,
}

/// What one thread has lent.
#[derive(Default)]
pub(crate) struct Loans {
    /// The oldest first.
    loans: Vec<Loan>,
}

impl Loans {
    /// How many snapshots are lent from.
    pub(crate) fn count(&mut self) -> usize {
        self.loans.retain(|loan| loan.lender.strong_count() > 0);
        self.loans.len()
    }

    /// Lends a value of this version: from a snapshot that is lent from anyway, or from the one of the turn. `None` where too many are.
    pub(crate) fn lend(
        &mut self,
        current: &Rc<Lender>,
        (database, key, version): (Database, &[u8], u64),
        now_ms: u64,
    ) -> Result<Option<LentValue>, Failure> {
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

    /// Takes back what was lent too long ago.
    pub(crate) fn take_back_old(&mut self, now_ms: u64) {
        self.take_back(|loan| now_ms >= loan.begun_ms + LENT_TIME_MS);
    }

    /// Takes back everything.
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
