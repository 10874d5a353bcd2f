//! Runs one command of a session: finds its row, checks what its client may, and carries it out.
//!
//! Owns the order of the checks, which is that of Redis, and the error texts of commands that are not carried out.

use channels::limits::SUBSCRIPTIONS_PER_CONNECTION;
use runtime::clock::Now;
use runtime::output::Output;
use wire::resp::{RespCommand, RespVersion, write_error};

use super::reply::{SHOWN_BYTES, shown};
use super::table::{self, Access, Run};
use super::{After, Call, Environment, Session, steps, transaction, values};
use crate::limits::{AWAITED, AWAITED_SIZE};

/// Runs one command.
pub(super) fn run(
    session: &mut Session,
    command: &RespCommand<'_>,
    env: &mut Environment<'_>,
    output: &mut Output,
    now: Now,
) -> After {
    let found = table::find(command.argument(0));
    let only_hears = session.version == RespVersion::Two && session.subscriptions() > 0;
    let is_closed = only_hears || session.must_authenticate();
    let row = found.map(|(_, row)| row);
    let waits = match row {
        // Its reply may stand behind those that the store still owes.
        Some(row) if row.access() != Access::Free && !is_closed => {
            session.pending.awaits(AWAITED, AWAITED_SIZE)
        }
        _ => !session.pending.has_answered(),
    };
    if waits {
        return After::Wait;
    }
    let name = command.argument(0);
    if row.is_none() && is_http(name) {
        return After::End;
    }
    if only_hears && !row.is_some_and(|row| row.is_for_subscribers()) {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let text = format!(
            "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
             allowed in this context"
        );
        write_error(output.buffer(), &text);
        return After::More;
    }
    if session.must_authenticate() && !row.is_some_and(|row| row.is_for_strangers()) {
        write_error(output.buffer(), "NOAUTH Authentication required.");
        return After::More;
    }
    let Some((number, row)) = found else {
        session.pending.spoil();
        write_error(output.buffer(), &unknown(command));
        return After::More;
    };
    let begun = env.clients.pace.tick();
    let mut call = Call { session, command, row, env, output, now };
    let refused = refusal(&call);
    let is_timed = refused.is_none() || row.access() != Access::Free;
    let after = match refused {
        Some(refused) => refuse(&mut call, &refused),
        None => carry_out(&mut call),
    };
    if after != After::Wait && is_timed {
        env.clients.pace.count_time(number, begun);
    }
    after
}

/// A web page made a browser send HTTP to this port. The rest must not be parsed as commands.
fn is_http(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

/// Why a command is not carried out.
enum Refusal {
    /// Its transaction fails, too.
    Invalid(String),
    NoStore,
    NoAccess,
}

fn refusal(call: &Call<'_, '_>) -> Option<Refusal> {
    let row = call.row;
    if !row.words().contains(&call.command.len()) {
        let text = format!("ERR wrong number of arguments for '{}' command", row.name());
        return Some(Refusal::Invalid(text));
    }
    // Each name is compared with each subscription.
    if row.is_about_subscriptions() && call.command.len() - 1 > SUBSCRIPTIONS_PER_CONNECTION {
        let text = format!("ERR at most {SUBSCRIPTIONS_PER_CONNECTION} names at once");
        return Some(Refusal::Invalid(text));
    }
    if row.access() == Access::Free {
        return None;
    }
    let Some(store) = &call.env.store else { return Some(Refusal::NoStore) };
    let need = row.need()?;
    let session = &call.session;
    let access = store.check_access(need, session.chosen_database(), &session.rights);
    access.is_err().then_some(Refusal::NoAccess)
}

#[cold]
fn refuse(call: &mut Call<'_, '_>, refusal: &Refusal) -> After {
    let text = match refusal {
        Refusal::Invalid(text) => text,
        Refusal::NoStore => "ERR there is no store; start the server with --store DIR",
        Refusal::NoAccess => "NOPERM this client may not do that in this database",
    };
    if !matches!(refusal, Refusal::NoStore) {
        call.session.pending.on_refused(call.row.name());
    }
    call.say_error(text)
}

/// Carries out a valid command, or keeps it until its transaction is executed.
fn carry_out(call: &mut Call<'_, '_>) -> After {
    if let Some(store) = &call.env.store {
        let database = call.session.database;
        store.turn_store().note_uses(|| call.keys().map(move |key| (database, key)));
    }
    let is_in_transaction = call.session.pending.is_in_transaction();
    match call.row.run() {
        Run::Value(shape) => values::run(call, shape),
        Run::Keys(wanted) => values::run_many(call, wanted),
        Run::Step(parse) => steps::run(call, parse),
        Run::Now(act) => act(call),
        Run::Queued(_) if is_in_transaction => transaction::queue_command(call),
        Run::Queued(_) if !call.session.pending.has_answered() => After::Wait,
        Run::Refused(_) if is_in_transaction => transaction::refuse(call),
        Run::Queued(act) | Run::Refused(act) => act(call),
    }
}

/// Redis' error text for an unknown command, with the first arguments.
fn unknown(command: &RespCommand<'_>) -> String {
    let mut arguments = String::new();
    for argument in command.arguments_from(1) {
        if arguments.len() >= SHOWN_BYTES {
            break;
        }
        arguments.push_str(&format!("'{}' ", shown(argument)));
    }
    let name = shown(command.argument(0));
    format!("ERR unknown command '{name}', with args beginning with: {arguments}")
}
