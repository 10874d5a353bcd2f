//! The verb `bench`: words to a plan, and what came of it to the terminal.

mod conformance;
pub(crate) mod flags;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "what carries a plan out is not there yet: its verbs are not offered"
    )
)]
mod plan;

use crate::Failure;
use flags::{Bench, Verb};

/// Runs the verb that was named.
pub(crate) fn run(flags: &Bench) -> Result<(), Failure> {
    match &flags.verb {
        Verb::Conformance(flags) => conformance::run(flags),
    }
}
