//! The steps of a Redis client that a trace shows.
//!
//! Owns what is said of them. Called only while there is a trace.

use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, StepAction, TracedKind};

const COMMAND: StepAction = StepAction::between(Actor::Client, Actor::Scheduler, "command");
const REPLY: StepAction = StepAction::between(Actor::Scheduler, Actor::Client, "reply");

/// A Redis client sends a command, perhaps about a key.
#[cold]
pub(crate) fn command(process: ProcessId, verb: &[u8], key: &[u8]) {
    let (verb, key) = (String::from_utf8_lossy(verb), String::from_utf8_lossy(key));
    trace::end(process);
    trace::offer(TracedKind::Key, process, format_args!("{key}"));
    if trace::is_noting() {
        let (verb, shown) = (verb.to_uppercase(), if trace::names_keys() { &*key } else { "" });
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
