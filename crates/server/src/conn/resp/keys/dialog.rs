//! The pending store requests of a session.
//!
//! Owns that replies are sent in the order of their commands. Takes no memory while nothing is
//! pending.

use std::collections::VecDeque;

use store::{Condition, Executed, Failure, Outcome};
use wire::resp::{Version, write_array, write_error, write_null_array};

use super::awaited::{Awaited, Part, Transaction};
use super::reply::Shape;
use super::write_failure;

/// What is under way.
#[derive(Debug, Default)]
struct Work {
    awaited: VecDeque<(Awaited, usize)>,
    /// Bytes of the orders.
    size: usize,
    transaction: Option<Transaction>,
    watched: Vec<Condition>,
    /// Bytes of large replies that were copied, or will be, and that the client has not taken.
    held: usize,
}

/// The part of a session that is about the store.
#[derive(Debug, Default)]
pub(in super::super) struct Dialog(Option<Box<Work>>);

impl Dialog {
    fn work(&mut self) -> &mut Work {
        self.0.get_or_insert_default()
    }

    /// Whether nothing is under way and nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Gives its memory back once there is nothing in it.
    fn settle(&mut self) {
        let is_over = self.0.as_ref().is_some_and(|work| {
            work.awaited.is_empty()
                && work.transaction.is_none()
                && work.watched.is_empty()
                && work.held == 0
        });
        if is_over {
            self.0 = None;
        }
    }

    /// Whether so many replies, or so many bytes of orders, are awaited.
    pub(super) fn awaits(&self, count: usize, size: usize) -> bool {
        self.0.as_ref().is_some_and(|work| work.awaited.len() >= count || work.size >= size)
    }

    /// Whether nothing is awaited.
    pub(in super::super) fn has_answered(&self) -> bool {
        self.0.as_ref().is_none_or(|work| work.awaited.is_empty())
    }

    /// Whether a command is answered at once: nothing is awaited, and no transaction is being put together.
    pub(in super::super) fn answers_now(&self) -> bool {
        self.0.as_ref().is_none_or(|work| work.awaited.is_empty() && work.transaction.is_none())
    }

    /// Notes a reply that is to come, and the bytes of its order.
    pub(super) fn expect(&mut self, awaited: Awaited, size: usize) {
        let work = self.work();
        work.size += size;
        work.awaited.push_back((awaited, size));
    }

    /// A large reply was copied, or will be.
    pub(super) fn hold(&mut self, size: usize) {
        if size > 0 {
            self.work().held += size;
        }
    }

    /// Whether the client has to take a large reply before it gets another one.
    pub(in super::super) fn has_to_drain(&self) -> bool {
        self.0.as_ref().is_some_and(|work| work.held > 0 && work.awaited.is_empty())
    }

    /// The client has taken everything, or has gone: gives the bytes of its large replies.
    pub(in super::super) fn let_go(&mut self) -> usize {
        let held = self.0.as_mut().map_or(0, |work| std::mem::take(&mut work.held));
        self.settle();
        held
    }

    /// Tells what became of the oldest order, and what was to be said behind it.
    pub(super) fn tell(
        &mut self,
        executed: Result<Executed, Failure>,
        told: (Version, u64),
        out: &mut Vec<u8>,
    ) {
        let work = self.work();
        let Some((awaited, size)) = work.awaited.pop_front() else { return };
        work.size -= size;
        match (awaited, executed) {
            (_, Err(failure)) => write_failure(out, &failure),
            (Awaited::Step(shape), Ok(Executed::Done(outcomes))) => {
                write_outcome(&shape, outcomes.first(), told, out);
            }
            (Awaited::Transaction(parts), Ok(Executed::Done(outcomes))) => {
                write_array(out, parts.len());
                let mut outcomes = outcomes.iter();
                for part in &parts {
                    match part {
                        Part::Outcome(shape) => write_outcome(shape, outcomes.next(), told, out),
                        Part::Said(bytes) => out.extend_from_slice(bytes),
                    }
                }
            }
            // A key that was watched has changed.
            (_, Ok(Executed::Refused)) => write_null_array(out, told.0),
            (Awaited::Said(bytes), Ok(_)) => out.extend_from_slice(&bytes),
        }
        while let Some((Awaited::Said(_), _)) = work.awaited.front() {
            if let Some((Awaited::Said(bytes), _)) = work.awaited.pop_front() {
                out.extend_from_slice(&bytes);
            }
        }
        self.settle();
    }

    /// Whether commands are put together for `EXEC`.
    pub(in super::super) fn is_in_transaction(&self) -> bool {
        self.0.as_ref().is_some_and(|work| work.transaction.is_some())
    }

    pub(super) fn transaction(&mut self) -> Option<&mut Transaction> {
        self.0.as_mut()?.transaction.as_mut()
    }

    pub(super) fn begin_transaction(&mut self) {
        self.work().transaction = Some(Transaction::default());
    }

    /// The transaction and the conditions, which end with it.
    pub(super) fn end_transaction(&mut self) -> Option<(Transaction, Vec<Condition>)> {
        let work = self.0.as_mut()?;
        let transaction = work.transaction.take()?;
        let watched = std::mem::take(&mut work.watched);
        self.settle();
        Some((transaction, watched))
    }

    /// A command was wrong: the transaction will not be executed.
    pub(in super::super) fn spoil(&mut self) {
        if let Some(transaction) = self.transaction() {
            transaction.is_spoilt = true;
        }
    }

    pub(super) fn watched(&mut self) -> &mut Vec<Condition> {
        &mut self.work().watched
    }

    pub(super) fn unwatch(&mut self) {
        if let Some(work) = &mut self.0 {
            work.watched.clear();
            self.settle();
        }
    }

    /// Bytes that are kept between commands.
    pub(in super::super) fn kept(&self) -> usize {
        let Some(work) = &self.0 else { return 0 };
        let watched =
            work.watched.iter().map(|condition| size_of::<Condition>() + condition.key.len());
        work.transaction.as_ref().map_or(0, |transaction| transaction.size) + watched.sum::<usize>()
    }
}

fn write_outcome(
    shape: &Shape,
    outcome: Option<&Outcome>,
    told: (Version, u64),
    out: &mut Vec<u8>,
) {
    match outcome {
        Some(outcome) => shape.write(outcome, told, out),
        None => write_error(out, "ERR the store gave no outcome"),
    }
}

/// Writes a reply behind those that are awaited.
pub(super) fn reply_behind(
    dialog: &mut Dialog,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    if dialog.has_answered() {
        return write(out);
    }
    let mut said = Vec::new();
    write(&mut said);
    let size = said.len();
    dialog.expect(Awaited::Said(said), size);
}
