//! Pending replies, and commands that wait for `EXEC`.

use std::collections::VecDeque;

use store::{Database, Order, OrderCondition, StepOutcome, StoreOperation};
use wire::resp::write_array;

use super::reply::Shape;

/// Whether the client does not want a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quiet {
    /// It wants the reply.
    #[default]
    No,
    /// It does not.
    Yes,
}

#[derive(Debug)]
pub(super) enum PendingReply {
    /// A reply that is ready, behind others that are not.
    Said(Vec<u8>),
    /// The outcome of one step.
    Step(Shape),
    /// The outcomes of a transaction.
    Transaction(Vec<Part>),
    /// One of these whose reply the client does not want.
    Quiet(Box<PendingReply>),
}

/// One element of the reply to `EXEC`.
#[derive(Debug)]
pub(super) enum Part {
    /// A reply that does not depend on the store.
    Said(Vec<u8>),
    /// The outcome of the next step.
    Outcome(Shape),
    /// That of a command that is no step, encoded. It runs when the steps are executed.
    Command(Box<[u8]>),
}

/// The rest of an executed transaction, whose commands are run one after the other, and whose replies are written as
/// fast as the client takes them.
#[derive(Debug)]
pub(super) struct Running {
    parts: VecDeque<Part>,
    outcomes: VecDeque<StepOutcome>,
    quiet: Quiet,
    /// Bytes of the outcomes, if they are large.
    held: usize,
}

/// The commands between `MULTI` and `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    steps: Vec<(Database, StoreOperation)>,
    /// The reply to each command.
    parts: Vec<Part>,
    size: usize,
    database: Option<Database>,
    /// Whether a command was invalid, which makes `EXEC` fail.
    is_spoilt: bool,
}

impl Running {
    pub(super) fn new(
        parts: Vec<Part>,
        outcomes: Vec<StepOutcome>,
        quiet: Quiet,
        held: usize,
    ) -> Self {
        Self { parts: parts.into(), outcomes: outcomes.into(), quiet, held }
    }

    /// Takes the next part, with the outcome of its step. Many values become a part each.
    pub(super) fn next(&mut self) -> Option<(Part, Option<StepOutcome>, Quiet)> {
        let part = self.parts.pop_front()?;
        let outcome = match part {
            Part::Outcome(_) => self.outcomes.pop_front(),
            _ => None,
        };
        let (part, outcome) = match (part, outcome) {
            (Part::Outcome(Shape::Bulks), Some(StepOutcome::Values(values))) => {
                let mut head = Vec::new();
                write_array(&mut head, values.len());
                for value in values.into_iter().rev() {
                    self.parts.push_front(Part::Outcome(Shape::Bulk));
                    self.outcomes.push_front(StepOutcome::Value(value));
                }
                (Part::Said(head), None)
            }
            other => other,
        };
        Some((part, outcome, self.quiet))
    }

    /// A command waits.
    pub(super) fn put_back(&mut self, part: Part) {
        self.parts.push_front(part);
    }

    /// Whether all parts are answered.
    pub(super) fn is_over(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes of the outcomes, if they are large.
    pub(super) fn held_bytes(&self) -> usize {
        self.held
    }
}

impl Transaction {
    /// Bytes of the steps and the replies.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The database that a `SELECT` among its commands has chosen.
    pub(super) fn database(&self) -> Option<Database> {
        self.database
    }

    /// The next commands concern this database, if there is one.
    pub(super) fn select(&mut self, database: Option<Database>) {
        self.database = database.or(self.database);
    }

    /// A command was invalid: `EXEC` will fail.
    pub(super) fn spoil(&mut self) {
        self.is_spoilt = true;
    }

    /// Drops the commands, and makes `EXEC` fail.
    pub(super) fn give_up(&mut self) {
        *self = Self { is_spoilt: true, ..Self::default() };
    }

    /// The order to the store and the replies; `None`: a command was invalid.
    pub(super) fn into_order(self, conditions: Vec<OrderCondition>) -> Option<(Order, Vec<Part>)> {
        (!self.is_spoilt).then_some((Order { conditions, steps: self.steps }, self.parts))
    }

    pub(super) fn add_step(&mut self, database: Database, step: StoreOperation, shape: Shape) {
        self.size += step.size();
        self.steps.push((database, step));
        self.add(Part::Outcome(shape));
    }

    pub(super) fn add(&mut self, part: Part) {
        let held = match &part {
            Part::Said(bytes) => bytes.len(),
            Part::Command(bytes) => bytes.len(),
            Part::Outcome(_) => 0,
        };
        self.size += size_of::<Part>() + held;
        self.parts.push(part);
    }
}
