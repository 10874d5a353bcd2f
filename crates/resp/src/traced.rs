//! The steps of a Redis client that a trace shows.
//!
//! Owns what is said of them. Called only while there is a trace.

use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, StepAction, TracedKind};

const COMMAND: StepAction = StepAction::between(Actor::Client, Actor::Scheduler, "command");
const REPLY: StepAction = StepAction::between(Actor::Scheduler, Actor::Client, "reply");

/// A Redis client sends a command, perhaps about keys: the one that the trace is about is shown, otherwise the first.
#[cold]
pub(crate) fn command<'k>(
    process: ProcessId,
    verb: &[u8],
    mut keys: impl Iterator<Item = &'k [u8]> + Clone,
) {
    trace::end(process);
    let sought = trace::offer_one_of(TracedKind::Key, process, keys.clone());
    if trace::is_noting() {
        let key = String::from_utf8_lossy(sought.or_else(|| keys.next()).unwrap_or_default());
        let verb = String::from_utf8_lossy(verb).to_uppercase();
        let shown = if trace::names_keys() { &*key } else { "" };
        trace::step_of_two(
            process,
            COMMAND,
            format_args!("{verb}"),
            format_args!("{verb} {shown}"),
        );
    }
}

/// The command is replied to.
#[cold]
pub(crate) fn reply(process: ProcessId) {
    trace::step(process, REPLY, format_args!(""));
    trace::end(process);
}
