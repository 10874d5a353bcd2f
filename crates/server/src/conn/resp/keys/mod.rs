//! The Redis commands that read and write the store.
//!
//! Owns the order of replies: a command after one that waits for the writer is answered after it.
//! `request` builds the store request of a command, `reply` formats its outcome.

mod about;
mod awaited;
mod dialog;
mod expiries;
mod inspecting;
mod known;
mod listing;
mod many;
mod reply;
mod request;
mod requested;
mod scanning;
mod transaction;
mod values;

use runtime::account::{Account, charged_to};
use runtime::service::{Context, Next};
use runtime::trace;
use store::{Database, Failure, Order, Step};
use wire::resp::{Command, write_error, write_simple};

use self::awaited::Awaited;
pub(super) use self::awaited::Quiet;
pub(super) use self::dialog::Dialog;
use self::dialog::reply_behind;
use self::known::Verb;
pub(super) use self::known::{Known, entries, find, numbered};
use self::request::Request;
pub(super) use self::transaction::{Going, go_on as go_on_with_transaction, queue_command, refuse};
use super::{After, Session};
use crate::limits::{RESP_AWAITED, RESP_AWAITED_SIZE};
use crate::message::Message;
use crate::site::{Site, traced};

/// Runs a command of the store.
pub(super) fn run(
    session: &mut Session,
    (command, known): (&Command<'_>, &Known),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if session.keys.awaits(RESP_AWAITED, RESP_AWAITED_SIZE) {
        return After::Wait;
    }
    if !known.words().contains(&command.len()) {
        session.keys.on_refused(known.verb);
        let name = String::from_utf8_lossy(command.argument(0)).to_ascii_lowercase();
        return say_error(
            session,
            context,
            &format!("ERR wrong number of arguments for '{name}' command"),
        );
    }
    if site.store.is_none() && !matches!(known.verb, Verb::Info | Verb::Config) {
        let text = "ERR there is no store; start the server with --store DIR";
        return say_error(session, context, text);
    }
    if let Some(need) = known.need
        && site.check_access(need, session.chosen_database(), session.lease.rights()).is_err()
    {
        session.keys.on_refused(known.verb);
        let text = "NOPERM this client may not do that in this database";
        return say_error(session, context, text);
    }
    match known.verb {
        Verb::Get if session.keys.answers_now() => values::get(session, command, site, context),
        Verb::GetRange if session.keys.answers_now() => {
            values::get_range(session, command, site, context)
        }
        Verb::MGet | Verb::Exists | Verb::Touch if session.keys.answers_now() => {
            many::run(session, (command, known.verb), site, context)
        }
        Verb::Keys => listing::run(session, command, site, context),
        Verb::Scan => scanning::run(session, command, site, context),
        Verb::Select if session.keys.is_in_transaction() => {
            if let Some(database) = database_named(command.argument(1), site) {
                session.keys.select(database);
            }
            transaction::queue_command(session, command, context)
        }
        Verb::Info | Verb::Config if session.keys.is_in_transaction() => {
            transaction::queue_command(session, command, context)
        }
        Verb::Select => select(session, command, site, context),
        Verb::Info => about::info(session, command, site, context),
        Verb::Config => about::config(session, command, context),
        Verb::Memory | Verb::Object | Verb::RandomKey => {
            inspecting::run(session, (command, known.verb), site, context)
        }
        Verb::Multi | Verb::Exec | Verb::Discard | Verb::Watch | Verb::Unwatch => {
            transaction::run(session, (command, known.verb), site, context)
        }
        _ => ask(session, (command, known.verb), site, context),
    }
}

/// Replies behind the pending replies.
fn say(
    session: &mut Session,
    context: &mut Context<'_, Message>,
    write: impl FnOnce(&mut Vec<u8>),
) -> After {
    reply_behind(&mut session.keys, context.output.buffer(), write);
    After::More
}

fn say_error(session: &mut Session, context: &mut Context<'_, Message>, text: &str) -> After {
    say(session, context, |out| write_error(out, text))
}

fn write_failure(out: &mut Vec<u8>, failure: &Failure) {
    // Redis clients take `OOM` for a server that refuses writes but still serves reads.
    let code = match failure {
        Failure::Full | Failure::LargerThanStore | Failure::DiskFull => "OOM",
        Failure::TooManyReaders | Failure::TooMuch | Failure::InUse | Failure::Storage(_) => "ERR",
    };
    write_error(out, &format!("{code} {failure}"));
}

/// Runs a command that is one step: answers it from the snapshot, adds it to the transaction, or sends it to the writer.
fn ask(
    session: &mut Session,
    (command, verb): (&Command<'_>, Verb),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let now_ms = context.now.unix_ms();
    let request = request::read(verb, command, now_ms);
    if session.keys.is_in_transaction() {
        return transaction::queue(session, request, site, context);
    }
    let Request { step, shape } = match request {
        Ok(request) => request,
        Err(text) => return say_error(session, context, &text),
    };
    if trace::is_on() {
        traced::command(session.process, command.argument(0), command.argument(1));
    }
    let database = session.database;
    let Some(store) = &mut site.store else { return After::More };
    if let (Step::Query(query), true) = (&step, session.keys.answers_now()) {
        let outcome = charged_to(Account::Store, || {
            store.snapshot().and_then(|snapshot| snapshot.answer(database, query, now_ms))
        });
        let out = context.output.buffer();
        match outcome {
            Ok(outcome) => shape.write(&outcome, (session.version, now_ms), out),
            Err(failure) => write_failure(out, &failure),
        }
        if trace::is_on() {
            traced::reply(session.process);
        }
        return After::More;
    }
    if matches!(step, Step::Query(_)) {
        // The query waits until the earlier changes are answered, and then reads from the map. Sending it to the writer would copy its result.
        return After::Wait;
    }
    if !store.has_room(session.process) {
        return After::Wait;
    }
    let order = Order { conditions: Vec::new(), steps: vec![(database, step)] };
    let size = store.cost_of(&order);
    match store.hold_reply_of(&order) {
        Ok(held) => store.held.let_go(session.keys.hold(held)),
        Err(failure) => return say(session, context, |out| write_failure(out, &failure)),
    }
    session.keys.expect(Awaited::Step(shape), size);
    store.order(session.process, order, size);
    After::More
}

/// `SELECT number`, or `SELECT name`, which Redis does not have.
fn select(
    session: &mut Session,
    command: &Command<'_>,
    site: &Site,
    context: &mut Context<'_, Message>,
) -> After {
    let wanted = String::from_utf8_lossy(command.argument(1));
    match database_named(command.argument(1), site) {
        Some(database) => {
            session.database = database;
            say(session, context, |out| write_simple(out, "OK"))
        }
        None if wanted.parse::<i64>().is_ok() => {
            say_error(session, context, "ERR DB index is out of range")
        }
        None => say_error(session, context, &format!("ERR there is no database '{wanted}'")),
    }
}

/// The database with this name.
fn database_named(name: &[u8], site: &Site) -> Option<Database> {
    let databases = site.store.as_ref().map_or(&[][..], |store| store.store().databases());
    let number = databases.iter().position(|known| known.as_bytes() == name)?;
    u8::try_from(number).ok().map(Database)
}

impl Session {
    /// The database of the next command, which in a transaction may not be that of the session yet.
    fn chosen_database(&self) -> Database {
        self.keys.chosen_database().unwrap_or(self.database)
    }
}

/// Handles answers of the writer: writes the replies. Returns what the process does next.
pub(super) fn go_on(
    session: &mut Session,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> Next {
    if let Some(store) = &mut site.store
        && !session.keys.is_empty()
    {
        let told = (session.version, context.now.unix_ms());
        for executed in store.take(session.process) {
            session.keys.tell(executed, told, context.output.buffer());
            if trace::is_on() {
                traced::reply(session.process);
            }
        }
        if session.keys.has_answered() {
            store.settle(session.process);
        }
    }
    if transaction::go_on(session, site, context) == Going::Waits {
        return session.until_resumed(context);
    }
    match session.ends {
        true if session.keys.has_answered() => Next::Finish,
        true => Next::Park,
        false if session.keys.has_to_drain() => session.after_full(),
        false => Next::Read,
    }
}
