//! The pending orders of a session.
//!
//! Owns that replies are sent in the order of their commands. Takes no memory while nothing is
//! pending.

use std::collections::VecDeque;

use ahash::HashMap;
use store::{Database, Executed, Order, OrderCondition, StepOutcome, StoreFailure};
use wire::resp::{RespVersion, write_array, write_error, write_null_array};

use super::pending_reply::{Part, PendingReply, Quiet, Running, Transaction};
use super::reply::{Shape, write_failure};

/// The pending replies and the open transaction.
#[derive(Debug, Default)]
struct Work {
    awaited: VecDeque<(PendingReply, usize)>,
    /// Cost of the orders in bytes.
    size: usize,
    transaction: Option<Transaction>,
    /// The watched keys, each with its version when it was first watched.
    watched: HashMap<(Database, Box<[u8]>), u64>,
    /// Whether a `WATCH` was refused: the client believes that keys guard its next transaction.
    is_unguarded: bool,
    /// An `EXEC` waits for its order, and has commands that run afterwards, or large replies. Later commands wait for
    /// them.
    has_commands: bool,
    /// Whether the client does not want a reply to the command that runs now.
    quiet: Quiet,
    /// The executed transaction whose commands run.
    running: Option<Running>,
    /// Bytes of large copied replies, requested or ready, that the client has not received yet.
    held: usize,
}

/// The part of a session that concerns the store.
#[derive(Debug, Default)]
pub(super) struct PendingReplies(Option<Box<Work>>);

impl PendingReplies {
    fn work(&mut self) -> &mut Work {
        self.0.get_or_insert_default()
    }

    /// Whether nothing is pending and nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Frees the memory if nothing is pending.
    fn settle(&mut self) {
        let is_over = self.0.as_ref().is_some_and(|work| {
            work.awaited.is_empty()
                && work.transaction.is_none()
                && work.watched.is_empty()
                && !work.is_unguarded
                && !work.has_commands
                && work.quiet == Quiet::No
                && work.held == 0
        });
        if is_over {
            self.0 = None;
        }
    }

    /// Whether the session has reached a limit of pending replies or of their bytes.
    pub(super) fn awaits(&self, count: usize, size: usize) -> bool {
        self.0.as_ref().is_some_and(|work| work.awaited.len() >= count || work.size >= size)
    }

    /// Whether no reply is pending.
    pub(super) fn has_answered(&self) -> bool {
        self.0.as_ref().is_none_or(|work| work.awaited.is_empty())
    }

    /// Whether a command can be answered at once: no reply is pending, and no transaction is open.
    pub(super) fn answers_now(&self) -> bool {
        self.0.as_ref().is_none_or(|work| work.awaited.is_empty() && work.transaction.is_none())
    }

    /// Whether the client does not want a reply to the command that runs now.
    pub(super) fn set_quiet(&mut self, quiet: Quiet) {
        if quiet == Quiet::Yes || self.0.is_some() {
            self.work().quiet = quiet;
        }
        if quiet == Quiet::No {
            self.settle();
        }
    }

    /// Adds a pending reply and the cost of its order.
    pub(super) fn expect(&mut self, awaited: PendingReply, size: usize) {
        let work = self.work();
        work.size += size;
        let awaited = match work.quiet {
            Quiet::Yes => PendingReply::Quiet(Box::new(awaited)),
            Quiet::No => awaited,
        };
        work.awaited.push_back((awaited, size));
    }

    /// Counts a large reply that is copied. Returns the bytes to give back at once: those of a reply that the client
    /// does not want, which is never sent.
    #[must_use]
    pub(super) fn hold(&mut self, size: usize) -> usize {
        if size == 0 {
            return 0;
        }
        let work = self.work();
        if work.quiet == Quiet::Yes {
            return size;
        }
        work.held += size;
        0
    }

    /// Whether the client must receive a large reply before the next command.
    pub(super) fn has_to_drain(&self) -> bool {
        self.0.as_ref().is_some_and(|work| work.held > 0 && work.awaited.is_empty())
    }

    /// The client has received everything that was written. Returns the bytes of its large replies.
    pub(super) fn let_go(&mut self) -> usize {
        let held = self.0.as_mut().map_or(0, |work| std::mem::take(&mut work.held));
        self.settle();
        held
    }

    /// The client has closed. Returns the bytes of its large replies, also of those that were not written.
    pub(super) fn let_go_of_all(&mut self) -> usize {
        self.end_commands();
        self.let_go()
    }

    /// Writes the reply of the oldest pending order, and the ready replies behind it.
    pub(super) fn tell(
        &mut self,
        executed: Result<Executed, StoreFailure>,
        told: (RespVersion, u64),
        out: &mut Vec<u8>,
    ) {
        let work = self.work();
        let Some((awaited, size)) = work.awaited.pop_front() else { return };
        work.size -= size;
        // No order follows that of a transaction with commands.
        let has_commands = work.has_commands && work.awaited.is_empty();
        work.has_commands &= !has_commands;
        let (mut unwanted, mut quiet) = (Vec::new(), Quiet::No);
        let (awaited, said) = match awaited {
            PendingReply::Quiet(awaited) => {
                quiet = Quiet::Yes;
                (*awaited, &mut unwanted)
            }
            awaited => (awaited, &mut *out),
        };
        match (awaited, executed) {
            // One is never within another.
            (PendingReply::Quiet(_), _) => {}
            (_, Err(failure)) => write_failure(said, &failure),
            (PendingReply::Step(shape), Ok(Executed::Done(outcomes))) => {
                write_outcome(&shape, outcomes.first(), told, said);
            }
            (PendingReply::Transaction(parts), Ok(Executed::Done(outcomes))) if has_commands => {
                write_array(said, parts.len());
                work.has_commands = true;
                let held = std::mem::take(&mut work.held);
                work.running = Some(Running::new(parts, outcomes, quiet, held));
            }
            (PendingReply::Transaction(parts), Ok(Executed::Done(outcomes))) => {
                write_array(said, parts.len());
                let mut outcomes = outcomes.iter();
                for part in &parts {
                    match part {
                        Part::Outcome(shape) => write_outcome(shape, outcomes.next(), told, said),
                        Part::Said(bytes) => said.extend_from_slice(bytes),
                        Part::Command(_) => {}
                    }
                }
            }
            // A watched key has changed.
            (_, Ok(Executed::Refused)) => write_null_array(said, told.0),
            (PendingReply::Said(bytes), Ok(_)) => said.extend_from_slice(&bytes),
        }
        while let Some((PendingReply::Said(_), _)) = work.awaited.front() {
            if let Some((PendingReply::Said(bytes), _)) = work.awaited.pop_front() {
                out.extend_from_slice(&bytes);
            }
        }
        self.settle();
    }

    /// Whether `MULTI` is open.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.0.as_ref().is_some_and(|work| work.transaction.is_some())
    }

    pub(super) fn transaction(&mut self) -> Option<&mut Transaction> {
        self.0.as_mut()?.transaction.as_mut()
    }

    pub(super) fn begin_transaction(&mut self) {
        self.work().transaction = Some(Transaction::default());
    }

    /// The database that the transaction has chosen.
    pub(super) fn chosen_database(&self) -> Option<Database> {
        self.0.as_ref()?.transaction.as_ref()?.database()
    }

    /// Whether an executed transaction has commands that have not run yet. Later commands wait for them.
    pub(super) fn is_executing(&self) -> bool {
        self.0.as_ref().is_some_and(|work| work.has_commands)
    }

    /// The next commands wait until those of the transaction have run.
    pub(super) fn await_commands(&mut self) {
        self.work().has_commands = true;
    }

    /// The executed transaction, whose parts are answered one after the other.
    pub(super) fn running(&mut self) -> Option<&mut Running> {
        self.0.as_mut()?.running.as_mut()
    }

    /// All parts of the executed transaction are answered. What they hold is let go when the client has received them.
    pub(super) fn end_commands(&mut self) {
        if let Some(work) = &mut self.0 {
            work.held += work.running.take().map_or(0, |running| running.held_bytes());
            work.has_commands = false;
        }
        self.settle();
    }

    /// Takes the transaction: its order and the replies. `None`: there is none, or it fails.
    pub(super) fn end_transaction(&mut self) -> Option<(Order, Vec<Part>)> {
        let work = self.0.as_mut()?;
        let transaction = work.transaction.take()?;
        let watched = std::mem::take(&mut work.watched).into_iter();
        let watched = watched
            .map(|((database, key), version)| OrderCondition { database, key, version })
            .collect();
        let is_unguarded = std::mem::take(&mut work.is_unguarded);
        self.settle();
        if is_unguarded { None } else { transaction.into_order(watched) }
    }

    /// A command was invalid: `EXEC` will fail.
    pub(super) fn spoil(&mut self) {
        if let Some(transaction) = self.transaction() {
            transaction.spoil();
        }
    }

    /// A command was refused: `EXEC` will fail if the command belongs to a transaction or to its
    /// preparation.
    pub(super) fn on_refused(&mut self, name: &str) {
        self.spoil();
        if name == "watch" {
            self.lose_guard();
        }
    }

    pub(super) fn watched(&mut self) -> &mut HashMap<(Database, Box<[u8]>), u64> {
        &mut self.work().watched
    }

    /// A `WATCH` was refused. No key guards the next transaction, so its `EXEC` will fail.
    pub(super) fn lose_guard(&mut self) {
        let work = self.work();
        work.watched = HashMap::default();
        work.is_unguarded = true;
    }

    pub(super) fn unwatch(&mut self) {
        if let Some(work) = &mut self.0 {
            work.watched = HashMap::default();
            work.is_unguarded = false;
            self.settle();
        }
    }

    /// Bytes kept between commands.
    pub(super) fn kept(&self) -> usize {
        let Some(work) = &self.0 else { return 0 };
        let watched = work.watched.keys().map(|(_, key)| size_of::<OrderCondition>() + key.len());
        work.transaction.as_ref().map_or(0, Transaction::size) + watched.sum::<usize>()
    }
}

pub(super) fn write_outcome(
    shape: &Shape,
    outcome: Option<&StepOutcome>,
    told: (RespVersion, u64),
    out: &mut Vec<u8>,
) {
    match outcome {
        Some(outcome) => shape.write(outcome, told, out),
        None => write_error(out, "ERR the store gave no outcome"),
    }
}

/// Writes a reply behind the pending ones.
pub(super) fn reply_behind(
    pending: &mut PendingReplies,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    if pending.has_answered() {
        return write(out);
    }
    if pending.0.as_ref().is_some_and(|work| work.quiet == Quiet::Yes) {
        return;
    }
    let mut said = Vec::new();
    write(&mut said);
    let size = said.len();
    pending.expect(PendingReply::Said(said), size);
}
