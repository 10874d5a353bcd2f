//! `MULTI`, `EXEC`, `DISCARD`, `WATCH` and `UNWATCH`: several commands as one, provided that no watched key has
//! changed; and `SELECT`, which a transaction may have for itself.
//!
//! Owns the commands that wait for `EXEC`. The writer executes those that are steps of the store as one order. The
//! others, such as `PUBLISH` and `SELECT`, run when it has: in their order, but other clients may run commands between
//! them.

use runtime::trace;
use store::limits::ORDER_WORK_SIZE;
use store::{Database, StoreFailure};
use wire::resp::{write_array, write_bulk, write_error, write_simple};

use super::pending_reply::{Part, PendingReply};
use super::reply::{shown, write_failure};
use super::requested::Request;
use super::{After, Call, Session};
use crate::limits::{KEPT_SIZE, TRANSACTION_SIZE, WATCHED};
use crate::traced;

fn write_ok(out: &mut Vec<u8>) {
    write_simple(out, "OK");
}

pub(super) fn multi(call: &mut Call<'_, '_>) -> After {
    if call.session.pending.is_in_transaction() {
        return call.say_error("ERR MULTI calls can not be nested");
    }
    call.session.pending.begin_transaction();
    call.say(write_ok)
}

pub(super) fn discard(call: &mut Call<'_, '_>) -> After {
    if !call.session.pending.is_in_transaction() {
        return call.say_error("ERR DISCARD without MULTI");
    }
    call.session.pending.end_transaction();
    call.say(write_ok)
}

pub(super) fn unwatch(call: &mut Call<'_, '_>) -> After {
    if let Some(transaction) = call.session.pending.transaction() {
        // Keys stay watched until `EXEC`, whether it succeeds or not.
        transaction.add(said(write_ok));
        return queued(call);
    }
    call.session.pending.unwatch();
    call.say(write_ok)
}

fn said(write: impl FnOnce(&mut Vec<u8>)) -> Part {
    let mut bytes = Vec::new();
    write(&mut bytes);
    Part::Said(bytes)
}

/// Queues a step of the store for `EXEC`, or the reply to an invalid one.
pub(super) fn queue(call: &mut Call<'_, '_>, request: Result<Request, String>) -> After {
    let database = call.session.chosen_database();
    call.trace_command();
    let Some(transaction) = call.session.pending.transaction() else { return After::More };
    match request {
        Ok(request) => {
            let (step, shape) = request.into_parts();
            transaction.add_step(database, step, shape);
        }
        Err(text) => transaction.add(said(|out| write_error(out, &text))),
    }
    if call.env.clients.kept < KEPT_SIZE { queued(call) } else { give_up(call) }
}

/// Queues a command that is no step of the store.
pub(super) fn queue_command(call: &mut Call<'_, '_>) -> After {
    let Some(transaction) = call.session.pending.transaction() else { return After::More };
    let mut bytes = Vec::new();
    write_array(&mut bytes, call.command.len());
    call.command.arguments_from(0).for_each(|word| write_bulk(&mut bytes, word));
    transaction.add(Part::Command(bytes.into()));
    queued(call)
}

fn queued(call: &mut Call<'_, '_>) -> After {
    let Some(transaction) = call.session.pending.transaction() else { return After::More };
    if transaction.size() > TRANSACTION_SIZE {
        return give_up(call);
    }
    if trace::is_noting() {
        traced::reply(call.session.process);
    }
    call.say(|out| write_simple(out, "QUEUED"))
}

/// The transaction is too large: drops its commands, and makes `EXEC` fail.
fn give_up(call: &mut Call<'_, '_>) -> After {
    if let Some(transaction) = call.session.pending.transaction() {
        transaction.give_up();
    }
    call.say_error("ERR the transaction is too large")
}

pub(super) fn exec(call: &mut Call<'_, '_>) -> After {
    let Call { session, command, env, .. } = call;
    if !session.pending.is_in_transaction() {
        return call.say_error("ERR EXEC without MULTI");
    }
    let Some(store) = &mut env.store else { return After::More };
    if !store.has_room(session.process) {
        return After::Wait;
    }
    let Some((order, parts)) = session.pending.end_transaction() else {
        return call.say_error("EXECABORT Transaction discarded because of previous errors.");
    };
    if trace::is_on() {
        let keys = order.keys().map(|(_, key)| key);
        traced::command(session.process, command.argument(0), keys);
    }
    let size = store.cost_of(&order);
    if size > ORDER_WORK_SIZE {
        return call.say(|out| write_failure(out, &StoreFailure::TooMuch));
    }
    let clients = &mut env.clients;
    let held = match store.reply_size(&order).and_then(|size| clients.held.hold(size)) {
        Ok(held) => held,
        Err(failure) => return call.say(|out| write_failure(out, &failure)),
    };
    clients.held.let_go(session.pending.hold(held));
    let is_command = |part: &Part| matches!(part, Part::Command(_));
    let has_commands = held > 0 || parts.iter().any(is_command);
    session.pending.expect(PendingReply::Transaction(parts), size);
    if has_commands {
        session.pending.await_commands();
    }
    store.order(session.process, order, size);
    After::More
}

/// `WATCH key …`: records the versions of keys that are not watched yet. Waits until the client's earlier writes are
/// answered. If it is refused, the next `EXEC` fails, because the client counts on its guard.
pub(super) fn watch(call: &mut Call<'_, '_>) -> After {
    if call.session.pending.is_in_transaction() {
        return call.say_error("ERR WATCH inside MULTI is not allowed");
    }
    if !call.session.pending.has_answered() {
        return After::Wait;
    }
    call.trace_command();
    let after = watch_keys(call);
    if trace::is_noting() {
        traced::reply(call.session.process);
    }
    after
}

fn watch_keys(call: &mut Call<'_, '_>) -> After {
    let Call { session, command, env, output, now, .. } = call;
    let Some(store) = &env.store else { return After::More };
    let out = output.buffer();
    for key in command.arguments_from(1) {
        let place = (session.database, Box::from(key));
        if session.pending.watched().contains_key(&place) {
            continue;
        }
        if session.pending.watched().len() == WATCHED || env.clients.kept >= KEPT_SIZE {
            session.pending.lose_guard();
            let text = format!(
                "ERR at most {WATCHED} keys can be watched; EXEC will fail until UNWATCH or DISCARD"
            );
            write_error(out, &text);
            return After::More;
        }
        let version = store.snapshot().and_then(|snapshot| {
            let record = snapshot.get(session.database, key, now.unix_ms())?;
            Ok(record.map_or(0, |record| record.version))
        });
        match version {
            Ok(version) => {
                session.pending.watched().insert(place, version);
            }
            Err(failure) => {
                session.pending.lose_guard();
                write_failure(out, &failure);
                return After::More;
            }
        }
    }
    write_ok(out);
    After::More
}

/// `SELECT number`, or `SELECT name`, which Redis does not have. In a transaction it is queued, and the commands behind
/// it already concern its database.
pub(super) fn select(call: &mut Call<'_, '_>) -> After {
    let name = call.word(1);
    let found = database_named(name, call);
    if let Some(transaction) = call.session.pending.transaction() {
        transaction.select(found);
        return queue_command(call);
    }
    let name = String::from_utf8_lossy(name);
    match found {
        Some(database) => {
            call.session.database = database;
            call.say(write_ok)
        }
        None if name.parse::<i64>().is_ok() => call.say_error("ERR DB index is out of range"),
        None => call.say_error(&format!("ERR there is no database '{name}'")),
    }
}

fn database_named(name: &[u8], call: &Call<'_, '_>) -> Option<Database> {
    let databases = call.env.store.as_ref()?.store().databases();
    let number = databases.iter().position(|known| known.as_bytes() == name)?;
    u8::try_from(number).ok().map(Database)
}

impl Session {
    /// The database of the next command, which in a transaction may not be that of the session yet.
    pub(super) fn chosen_database(&self) -> Database {
        self.pending.chosen_database().unwrap_or(self.database)
    }
}

/// A command that is not allowed in a transaction: makes `EXEC` fail.
pub(super) fn refuse(call: &mut Call<'_, '_>) -> After {
    call.session.pending.spoil();
    let name = shown(call.word(0)).to_ascii_uppercase();
    call.say_error(&format!("ERR {name} is not allowed in transactions"))
}
