//! Pending replies, and commands that wait for `EXEC`.

use store::{Database, Step};

use super::reply::Shape;

/// A pending reply.
#[derive(Debug)]
pub(super) enum Awaited {
    /// A reply that is ready, behind others that are not.
    Said(Vec<u8>),
    /// The outcome of one step.
    Step(Shape),
    /// The outcomes of a transaction.
    Transaction(Vec<Part>),
}

/// One element of the reply to `EXEC`.
#[derive(Debug)]
pub(super) enum Part {
    /// A reply that does not depend on the store.
    Said(Vec<u8>),
    /// The outcome of the next step.
    Outcome(Shape),
}

/// The commands between `MULTI` and `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) steps: Vec<(Database, Step)>,
    /// The reply to each command.
    pub(super) parts: Vec<Part>,
    /// Bytes of the steps and the replies.
    pub(super) size: usize,
    /// Whether a command was invalid, which makes `EXEC` fail.
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
