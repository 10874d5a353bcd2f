//! Pending replies, and commands that wait for `EXEC`.

use store::{Database, Step};

use super::reply::Shape;

/// A reply that is to come.
#[derive(Debug)]
pub(super) enum Awaited {
    /// What is said in its turn, because something before it is awaited.
    Said(Vec<u8>),
    /// The outcome of a step.
    Step(Shape),
    /// The outcomes of a transaction.
    Transaction(Vec<Part>),
}

/// A part of the reply to `EXEC`.
#[derive(Debug)]
pub(super) enum Part {
    /// What is known without the store.
    Said(Vec<u8>),
    /// The outcome of the next step.
    Outcome(Shape),
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) steps: Vec<(Database, Step)>,
    /// The reply of each command.
    pub(super) parts: Vec<Part>,
    /// Bytes of both.
    pub(super) size: usize,
    /// Whether a command of it was wrong.
    pub(super) is_spoilt: bool,
}

impl Transaction {
    pub(super) fn add(&mut self, part: Part) {
        self.size += size_of::<Part>();
        if let Part::Said(bytes) = &part {
            self.size += bytes.len();
        }
        self.parts.push(part);
    }
}
