//! The verb `bench`: from flags to a plan, and from the result to the terminal.

mod agent;
mod agents;
mod channel;
mod compare;
mod conformance;
pub(crate) mod flags;
mod hold;
mod http;
mod knee;
pub(crate) mod page;
mod part;
pub(crate) mod plan;
mod reaching;
pub(crate) mod screen;
mod store;
pub(crate) mod timing;

use crate::Failure;
use flags::{Bench, Verb};

/// Runs the verb below `bench`.
pub(crate) fn run(flags: &Bench) -> Result<(), Failure> {
    match &flags.verb {
        Verb::Http(flags) => http::run(flags),
        Verb::Hold(flags) => hold::run(flags),
        Verb::Channel(flags) => channel::run(flags),
        Verb::Store(flags) => store::run(flags),
        Verb::Compare(flags) => compare::run(flags),
        Verb::Knee(flags) => knee::run(flags),
        Verb::Conformance(flags) => conformance::run(flags),
        Verb::Agent(flags) => agent::run(flags),
    }
}
