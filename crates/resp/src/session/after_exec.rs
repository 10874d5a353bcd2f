//! The rest of an executed transaction: its commands that are no steps of the store, and its large replies.
//!
//! Owns that they come in the order in which they were queued, as fast as the client takes them and as the time of a
//! turn allows.

use runtime::clock::Now;
use runtime::output::Output;
use runtime::service::Context;
use store::StepOutcome;
use wire::resp::{CommandLimits, Parser};

use super::pending::write_outcome;
use super::pending_reply::{Part, Quiet, Running};
use super::{After, Environment, Session, dispatch};

/// Runs the commands of an executed transaction, and writes the replies to its steps between theirs. Returns whether
/// there are none left; otherwise one waits, for its answer, for the client or for the next turn.
pub(super) fn go_on<M>(
    session: &mut Session,
    env: &mut Environment<'_>,
    context: &mut Context<'_, M>,
) -> bool {
    while session.pending.is_executing() {
        let has_answered = session.pending.has_answered();
        if !has_answered || session.pending.has_to_drain() || context.output_is_full() {
            return false;
        }
        let next = session.pending.running().and_then(Running::next);
        let Some((part, outcome, quiet)) = next else { break };
        let mut unwanted = Output::default();
        let output = if quiet == Quiet::Yes { &mut unwanted } else { &mut *context.output };
        session.pending.set_quiet(quiet);
        let after = answer(session, (&part, outcome.as_ref()), env, output, context.now);
        session.pending.set_quiet(Quiet::No);
        if after == After::Wait {
            if let Some(running) = session.pending.running() {
                running.put_back(part);
            }
            return false;
        }
        env.clients.end_work(session.process);
        if session.pending.running().is_none_or(|running| running.is_over()) {
            // Together with the last reply, because the process is told when that has been sent.
            break;
        }
        if env.clients.pace.is_over() {
            env.clients.rest(session.process);
            return false;
        }
    }
    session.pending.end_commands();
    true
}

fn answer(
    session: &mut Session,
    (part, outcome): (&Part, Option<&StepOutcome>),
    env: &mut Environment<'_>,
    output: &mut Output,
    now: Now,
) -> After {
    match part {
        Part::Said(bytes) => output.put(bytes),
        Part::Outcome(shape) => {
            write_outcome(shape, outcome, (session.version, now.unix_ms()), output.buffer());
        }
        Part::Command(command) => {
            if let Ok(Some(command)) = Parser::default().parse(command, &CommandLimits::default()) {
                return dispatch::run(session, &command, env, output, now);
            }
        }
    }
    After::More
}
