//! Requests to the store, and their answers.

use heed::RoTxn;

use crate::change::Change;
use crate::failure::Failure;
use crate::limits::PAGE_SIZE;
use crate::outcome::Outcome;
use crate::page::PageOf;
use crate::query::Query;
use crate::table::Table;

/// A database of the store: its place in the names that the store was opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Database(pub u8);

/// Something to be done with one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read.
    Query(Query),
    /// Write.
    Change(Change),
    /// A page of a scan: that of this number, 0 for the first.
    Scan(u64, PageOf),
}

impl Step {
    /// Bytes of values that it copies, as they are now.
    pub(crate) fn work(&self, table: &Table, transaction: &RoTxn<'_>) -> Result<usize, Failure> {
        match self {
            Self::Query(query) => query.work(table, transaction),
            Self::Change(change) => change.work(table, transaction),
            Self::Scan(..) => Ok(PAGE_SIZE),
        }
    }

    /// Bytes of values that it gives, as they are now.
    pub(crate) fn gives(&self, table: &Table, transaction: &RoTxn<'_>) -> Result<usize, Failure> {
        match self {
            Self::Change(change) => change.gives(table, transaction),
            Self::Query(query) => query.work(table, transaction),
            // Keys alone.
            Self::Scan(..) => Ok(0),
        }
    }

    /// Bytes that it holds in memory while it waits.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Query(query) => query.size(),
            Self::Change(change) => change.size(),
            Self::Scan(_, page) => size_of::<Self>() + page.size(),
        }
    }
}

/// Something that has to hold for an order to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Of which database.
    pub database: Database,
    /// The key.
    pub key: Box<[u8]>,
    /// The version it must have; 0: it must not be there.
    pub version: u64,
}

/// Steps that are executed in their order, with nothing of anybody else between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Where one does not hold, nothing is done.
    pub conditions: Vec<Condition>,
    /// What is to be done.
    pub steps: Vec<(Database, Step)>,
}

impl Order {
    /// An order of one change.
    #[must_use]
    pub fn of(database: Database, change: Change) -> Self {
        Self { conditions: Vec::new(), steps: vec![(database, Step::Change(change))] }
    }

    /// Bytes that it holds in memory while it waits.
    #[must_use]
    pub fn size(&self) -> usize {
        let conditions = self.conditions.iter().map(|condition| 32 + condition.key.len());
        conditions.sum::<usize>() + self.steps.iter().map(|(_, step)| step.size()).sum::<usize>()
    }

    /// Whether it changes anything.
    pub(crate) fn changes(&self) -> bool {
        self.steps.iter().any(|(_, step)| matches!(step, Step::Change(_)))
    }

    pub(crate) fn may_grow(&self) -> bool {
        self.steps.iter().any(|(_, step)| matches!(step, Step::Change(change) if change.may_grow()))
    }
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// It was executed: an outcome for each step.
    Done(Vec<Outcome>),
    /// A condition did not hold.
    Refused,
}
