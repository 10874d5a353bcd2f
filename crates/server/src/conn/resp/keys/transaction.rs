//! `MULTI`, `EXEC`, `DISCARD`, `WATCH` and `UNWATCH`: several commands as one, provided that no watched key has
//! changed.
//!
//! Owns the commands that wait for `EXEC`. The writer executes those that are steps of the store as one order. The others, such as `PUBLISH` and
//! `SELECT`, run when it has: in their order, but other clients may run commands between them.

use runtime::service::Context;
use store::limits::ORDER_WORK_SIZE;
use store::{Failure, Order, Outcome};
use wire::resp::{Command, Limits, Parser, write_array, write_bulk, write_error, write_simple};

use super::super::wording::shown;
use super::awaited::{Awaited, Part, Quiet, Transaction};
use super::dialog::write_outcome;
use super::known::Verb;
use super::request::Request;
use super::{After, Session, say, say_error, write_failure};
use crate::limits::{RESP_TRANSACTION_SIZE, RESP_WATCHED};
use crate::message::Message;
use crate::site::Site;

pub(super) fn run(
    session: &mut Session,
    (command, verb): (&Command<'_>, Verb),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let is_in = session.keys.is_in_transaction();
    match (verb, is_in) {
        (Verb::Multi, true) => say_error(session, context, "ERR MULTI calls can not be nested"),
        (Verb::Multi, false) => {
            session.keys.begin_transaction();
            say(session, context, |out| write_simple(out, "OK"))
        }
        (Verb::Exec, false) => say_error(session, context, "ERR EXEC without MULTI"),
        (Verb::Exec, true) => execute(session, site, context),
        (Verb::Discard, false) => say_error(session, context, "ERR DISCARD without MULTI"),
        (Verb::Discard, true) => {
            session.keys.end_transaction();
            say(session, context, |out| write_simple(out, "OK"))
        }
        (Verb::Watch, true) => say_error(session, context, "ERR WATCH inside MULTI is not allowed"),
        (Verb::Watch, false) => watch(session, command, site, context),
        (_, true) => {
            // Keys stay watched until `EXEC`, whether it succeeds or not.
            queue_said(session, context, |out| write_simple(out, "OK"))
        }
        (_, false) => {
            session.keys.unwatch();
            say(session, context, |out| write_simple(out, "OK"))
        }
    }
}

fn said(write: impl FnOnce(&mut Vec<u8>)) -> Part {
    let mut bytes = Vec::new();
    write(&mut bytes);
    Part::Said(bytes)
}

/// Queues a command whose reply is known.
pub(super) fn queue_said(
    session: &mut Session,
    context: &mut Context<'_, Message>,
    write: impl FnOnce(&mut Vec<u8>),
) -> After {
    let Some(transaction) = session.keys.transaction() else { return After::More };
    transaction.add(said(write));
    queued(session, context)
}

/// Queues a command for `EXEC`.
pub(super) fn queue(
    session: &mut Session,
    request: Result<Request, String>,
    site: &Site,
    context: &mut Context<'_, Message>,
) -> After {
    let database = session.chosen_database();
    let may_keep = site.store.as_ref().is_some_and(|store| store.may_keep());
    let Some(transaction) = session.keys.transaction() else { return After::More };
    let part = match request {
        Ok(Request { step, shape }) => {
            transaction.size += step.size();
            transaction.steps.push((database, step));
            Part::Outcome(shape)
        }
        Err(text) => said(|out| write_error(out, &text)),
    };
    transaction.add(part);
    if may_keep { queued(session, context) } else { give_up(session, context) }
}

/// Queues a command that is no step of the store.
pub(in super::super) fn queue_command(
    session: &mut Session,
    command: &Command<'_>,
    context: &mut Context<'_, Message>,
) -> After {
    let Some(transaction) = session.keys.transaction() else { return After::More };
    let mut bytes = Vec::new();
    write_array(&mut bytes, command.len());
    command.arguments_from(0).for_each(|word| write_bulk(&mut bytes, word));
    transaction.add(Part::Command(bytes.into()));
    queued(session, context)
}

fn queued(session: &mut Session, context: &mut Context<'_, Message>) -> After {
    let Some(transaction) = session.keys.transaction() else { return After::More };
    if transaction.size > RESP_TRANSACTION_SIZE {
        return give_up(session, context);
    }
    say(session, context, |out| write_simple(out, "QUEUED"))
}

/// The transaction is too large: drops its commands, and makes `EXEC` fail.
fn give_up(session: &mut Session, context: &mut Context<'_, Message>) -> After {
    if let Some(transaction) = session.keys.transaction() {
        *transaction = Transaction { is_spoilt: true, ..Transaction::default() };
    }
    say_error(session, context, "ERR the transaction is too large")
}

fn execute(session: &mut Session, site: &mut Site, context: &mut Context<'_, Message>) -> After {
    let Some(store) = &mut site.store else { return After::More };
    if !store.has_room(session.process) {
        return After::Wait;
    }
    let Some((transaction, conditions)) = session.keys.end_transaction() else {
        return After::More;
    };
    if transaction.is_spoilt {
        let text = "EXECABORT Transaction discarded because of previous errors.";
        return say_error(session, context, text);
    }
    let order = Order { conditions, steps: transaction.steps };
    let size = store.cost_of(&order);
    if size > ORDER_WORK_SIZE {
        return say(session, context, |out| write_failure(out, &Failure::TooMuch));
    }
    let held = match store.hold_reply_of(&order) {
        Ok(held) => held,
        Err(failure) => return say(session, context, |out| write_failure(out, &failure)),
    };
    store.held.let_go(session.keys.hold(held));
    let is_command = |part: &Part| matches!(part, Part::Command(_));
    let has_commands = held > 0 || transaction.parts.iter().any(is_command);
    session.keys.expect(Awaited::Transaction(transaction.parts), size);
    if has_commands {
        session.keys.await_commands();
    }
    store.order(session.process, order, size);
    After::More
}

/// Whether the commands of an executed transaction have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Going {
    /// There are none left.
    Done,
    /// One waits, for its answer, for the client or for the next turn.
    Waits,
}

/// Runs the commands of an executed transaction, and writes the replies to its steps between theirs, as far as the
/// client takes them and the time of the turn allows.
pub(in super::super) fn go_on(
    session: &mut Session,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> Going {
    while session.keys.is_executing() {
        if !session.keys.has_answered() || session.keys.has_to_drain() || context.output_is_full() {
            return Going::Waits;
        }
        let Some((part, quiet, outcomes)) = session.keys.next_part() else { break };
        let outcome = if matches!(part, Part::Outcome(_)) { outcomes.pop_front() } else { None };
        let wanted = (quiet == Quiet::Yes).then(|| std::mem::take(context.output));
        session.keys.set_quiet(quiet);
        let after = answer_part(session, (&part, outcome.as_ref()), site, context);
        session.keys.set_quiet(Quiet::No);
        if let Some(wanted) = wanted {
            *context.output = wanted;
        }
        if after == After::Wait {
            session.keys.put_back(part);
            return Going::Waits;
        }
        if !session.keys.has_parts() {
            // Together with the last reply, because the process is told when that has been sent.
            break;
        }
        if site.resp_pace.is_over() {
            site.rest(session.process);
            return Going::Waits;
        }
    }
    session.keys.end_commands();
    Going::Done
}

fn answer_part(
    session: &mut Session,
    (part, outcome): (&Part, Option<&Outcome>),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    match part {
        Part::Said(bytes) => context.output.put(bytes),
        Part::Outcome(shape) => {
            let told = (session.version, context.now.unix_ms());
            write_outcome(shape, outcome, told, context.output.buffer());
        }
        Part::Command(command) => {
            if let Ok(Some(command)) = Parser::default().parse(command, &Limits::default()) {
                return session.run_queued(&command, site, context);
            }
        }
    }
    After::More
}

/// Records the versions of keys that are not watched yet. Waits until the client's earlier writes are answered. If it
/// is refused, the next `EXEC` fails, because the client counts
/// on its guard.
fn watch(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if !session.keys.has_answered() {
        return After::Wait;
    }
    let Some(store) = &mut site.store else { return After::More };
    let (database, now_ms) = (session.database, context.now.unix_ms());
    let out = context.output.buffer();
    for key in command.arguments_from(1) {
        let place = (database, Box::from(key));
        if session.keys.watched().contains_key(&place) {
            continue;
        }
        if session.keys.watched().len() == RESP_WATCHED || !store.may_keep() {
            session.keys.lose_guard();
            let text = format!(
                "ERR at most {RESP_WATCHED} keys can be watched; EXEC will fail until UNWATCH or DISCARD"
            );
            write_error(out, &text);
            return After::More;
        }
        let version = store.snapshot().and_then(|snapshot| {
            let record = snapshot.get(database, key, now_ms)?;
            Ok(record.map_or(0, |record| record.version))
        });
        match version {
            Ok(version) => {
                session.keys.watched().insert(place, version);
            }
            Err(failure) => {
                session.keys.lose_guard();
                write_failure(out, &failure);
                return After::More;
            }
        }
    }
    write_simple(out, "OK");
    After::More
}

/// A command that is not allowed in a transaction: makes `EXEC` fail.
pub(in super::super) fn refuse(
    session: &mut Session,
    command: &Command<'_>,
    context: &mut Context<'_, Message>,
) -> After {
    session.keys.spoil();
    let name = shown(command.argument(0)).to_ascii_uppercase();
    say_error(session, context, &format!("ERR {name} is not allowed in transactions"))
}
