//! The steps of an order to the store that a trace shows.
//!
//! Owns what is said of them. Called only while there is a trace.

use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, What};
use store::Failure;

const ORDER: What = What::between(Actor::Scheduler, Actor::Store, "order").begins();
const STORED: What = What::between(Actor::Store, Actor::Scheduler, "done").ends();

/// A process orders a change of the store.
#[cold]
pub(crate) fn order(process: ProcessId) {
    trace::step(process, ORDER, format_args!(""));
}

/// The writer of the store has answered a process.
#[cold]
pub(crate) fn stored(process: ProcessId, is_done: Result<(), &Failure>) {
    match is_done {
        Ok(()) => trace::step(process, STORED, format_args!("")),
        Err(failure) => trace::step(process, STORED, format_args!("failed: {failure}")),
    }
}
