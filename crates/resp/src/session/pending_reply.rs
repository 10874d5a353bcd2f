//! Pending replies, and commands that wait for `EXEC`.

use std::collections::VecDeque;

use store::{Database, StepOutcome, StoreOperation};

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

/// A pending reply.
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
    pub(super) parts: VecDeque<Part>,
    pub(super) outcomes: VecDeque<StepOutcome>,
    pub(super) quiet: Quiet,
    /// Bytes of the outcomes, if they are large.
    pub(super) held: usize,
}

/// The commands between `MULTI` and `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) steps: Vec<(Database, StoreOperation)>,
    /// The reply to each command.
    pub(super) parts: Vec<Part>,
    /// Bytes of the steps and the replies.
    pub(super) size: usize,
    /// The database that a `SELECT` among them has chosen.
    pub(super) database: Option<Database>,
    /// Whether a command was invalid, which makes `EXEC` fail.
    pub(super) is_spoilt: bool,
}

impl Transaction {
    pub(super) fn add(&mut self, part: Part) {
        self.size += size_of::<Part>();
        self.size += match &part {
            Part::Said(bytes) => bytes.len(),
            Part::Command(bytes) => bytes.len(),
            Part::Outcome(_) => 0,
        };
        self.parts.push(part);
    }
}
