//! Orders: requests to the writer, and their results.

use heed::RoTxn;

use crate::change::DatabaseChange;
use crate::failure::StoreFailure;
use crate::outcome::StepOutcome;
use crate::query::Query;
use crate::table::Table;

/// A database of the store: an index into the names with which the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Database(pub u8);

/// One operation on one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreOperation {
    /// A read.
    Query(Query),
    /// A write.
    Change(DatabaseChange),
}

impl StoreOperation {
    /// Bytes of stored values that the step copies.
    pub(crate) fn work(
        &self,
        table: &Table,
        transaction: &RoTxn<'_>,
    ) -> Result<usize, StoreFailure> {
        match self {
            Self::Query(query) => query.work(table, transaction),
            Self::Change(change) => change.work(table, transaction),
        }
    }

    /// Bytes that the step may write, if it copies so many.
    pub(crate) fn growth(&self, copied: usize) -> u64 {
        match self {
            Self::Change(change) => change.growth(copied),
            Self::Query(_) => 0,
        }
    }

    /// Bytes of stored values that the step returns.
    pub(crate) fn gives(
        &self,
        table: &Table,
        transaction: &RoTxn<'_>,
    ) -> Result<usize, StoreFailure> {
        match self {
            Self::Change(change) => change.gives(table, transaction),
            Self::Query(query) => query.work(table, transaction),
        }
    }

    /// Bytes of memory that the step takes while it waits.
    pub fn size(&self) -> usize {
        match self {
            Self::Query(query) => query.size(),
            Self::Change(change) => change.size(),
        }
    }

    /// The keys that it names.
    fn keys(&self) -> Vec<&[u8]> {
        match self {
            Self::Query(query) => query.named_keys(),
            Self::Change(change) => change.named_keys(),
        }
    }
}

/// A condition of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderCondition {
    /// The database.
    pub database: Database,
    /// The key.
    pub key: Box<[u8]>,
    /// The version that the key must have; 0 if it must not exist.
    pub version: u64,
}

/// Steps that are executed in order, without any other order between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// If one of these is not met, no step is executed.
    pub conditions: Vec<OrderCondition>,
    /// The steps.
    pub steps: Vec<(Database, StoreOperation)>,
}

impl Order {
    /// An order with one change.
    pub fn of(database: Database, change: DatabaseChange) -> Self {
        Self { conditions: Vec::new(), steps: vec![(database, StoreOperation::Change(change))] }
    }

    /// Bytes of memory that the order takes while it waits.
    pub fn size(&self) -> usize {
        let conditions = self.conditions.iter().map(|condition| 32 + condition.key.len());
        conditions.sum::<usize>() + self.steps.iter().map(|(_, step)| step.size()).sum::<usize>()
    }

    /// The keys that its steps name, one as often as it is named.
    pub fn keys(&self) -> impl Iterator<Item = (Database, &[u8])> + Clone {
        self.steps
            .iter()
            .flat_map(|(database, step)| step.keys().into_iter().map(move |key| (*database, key)))
    }

    /// Whether any step writes.
    pub(crate) fn changes(&self) -> bool {
        self.steps.iter().any(|(_, step)| matches!(step, StoreOperation::Change(_)))
    }

    /// Bytes that the order writes, without the stored values that it copies.
    pub(crate) fn growth(&self) -> u64 {
        self.steps.iter().fold(0, |sum, (_, step)| sum.saturating_add(step.growth(0)))
    }
}

/// The result of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// The order was executed: the outcome of each step.
    Done(Vec<StepOutcome>),
    /// A condition was not met.
    Refused,
}
