//! Commands that are one step of the store: how their words are read, and how the step is made.
//!
//! Owns Redis' error texts for invalid words.

use runtime::account::{TimeAccount, charged_to};
use runtime::trace;
use store::{DatabaseChange, Expiry, KeyTransfer, Old, Only, Order, Query, StoreOperation, Value};

use super::expiries::{self, Lasting};
use super::pending_reply::PendingReply;
use super::reply::{Shape, Unit, write_failure};
use super::requested::{Request, SYNTAX, Words, ask, change};
use super::{After, Call, transaction};
use crate::traced;

/// Runs a command that is one step: answers it from the snapshot, adds it to the transaction, or sends it to the
/// writer.
pub(super) fn run(
    call: &mut Call<'_, '_>,
    parse: fn(&Words<'_>) -> Result<Request, String>,
) -> After {
    let request = parse(&call.words());
    if call.session.pending.is_in_transaction() {
        return transaction::queue(call, request);
    }
    let (step, shape) = match request {
        Ok(request) => request.into_parts(),
        Err(text) => return call.say_error(&text),
    };
    call.trace_command();
    match step {
        StoreOperation::Query(query) if call.session.pending.answers_now() => {
            answer(call, &query, &shape)
        }
        // The query waits until the earlier changes are answered, and then reads from the map. Sending it to the writer
        // would copy its result.
        StoreOperation::Query(_) => After::Wait,
        StoreOperation::Change(_) => order(call, step, shape),
    }
}

fn answer(call: &mut Call<'_, '_>, query: &Query, shape: &Shape) -> After {
    let (session, now_ms) = (&*call.session, call.now.unix_ms());
    let Some(store) = &call.env.store else { return After::More };
    let outcome = charged_to(TimeAccount::Store, || {
        store.snapshot().and_then(|snapshot| snapshot.answer(session.database, query, now_ms))
    });
    let out = call.output.buffer();
    match outcome {
        Ok(outcome) => shape.write(&outcome, (session.version, now_ms), out),
        Err(failure) => write_failure(out, &failure),
    }
    if trace::is_noting() {
        traced::reply(session.process);
    }
    After::More
}

/// Sends a change to the writer.
fn order(call: &mut Call<'_, '_>, step: StoreOperation, shape: Shape) -> After {
    let Call { session, env, .. } = call;
    let Some(store) = &mut env.store else { return After::More };
    if !store.has_room(session.process) {
        return After::Wait;
    }
    let order = Order { conditions: Vec::new(), steps: vec![(session.database, step)] };
    let size = store.cost_of(&order);
    let held = &mut env.clients.held;
    match store.reply_size(&order).and_then(|size| held.hold(size)) {
        Ok(size) => held.let_go(session.pending.hold(size)),
        Err(failure) => return call.say(|out| write_failure(out, &failure)),
    }
    session.pending.expect(PendingReply::Step(shape), size);
    store.order(session.process, order, size);
    After::More
}

/// `FLUSHDB [SYNC | ASYNC]` and `FLUSHALL`; both are the same here.
pub(super) fn clear(words: &Words<'_>, cleared: DatabaseChange) -> Result<Request, String> {
    let option = words.at(1).to_ascii_lowercase();
    if !matches!(&*option, b"" | b"sync" | b"async") {
        return Err(SYNTAX.to_owned());
    }
    change(cleared, Shape::Ok)
}

/// The change that gives a key the value in the word with this index.
fn put(words: &Words<'_>, at: usize, (expiry, only, old): (Expiry, Only, Old)) -> DatabaseChange {
    DatabaseChange::Put { key: words.key(), value: Value::bytes(words.at(at)), expiry, only, old }
}

/// `SET key value [NX | XX] [GET] [EX … | PX … | EXAT … | PXAT … | KEEPTTL]`.
pub(super) fn set(words: &Words<'_>) -> Result<Request, String> {
    let (mut expiry, mut only, mut old) = (None, Only::Always, Old::Dropped);
    let mut at = 3;
    while at < words.command().len() {
        match &*words.at(at).to_ascii_lowercase() {
            b"nx" if only != Only::IfPresent => only = Only::IfAbsent,
            b"xx" if only != Only::IfAbsent => only = Only::IfPresent,
            b"get" => old = Old::Given,
            option => expiry = Some(expiries::option(expiry, option, words.command(), &mut at)?),
        }
        at += 1;
    }
    // Redis reports wrong syntax before wrong times.
    let expiry = expiry.map_or(Ok(Expiry::Never), |expiry| match expiry {
        Lasting::Persist => Err(SYNTAX.to_owned()),
        expiry => expiry.read(words),
    })?;
    let shape = if old == Old::Given { Shape::Old } else { Shape::OkOrNull };
    change(put(words, 2, (expiry, only, old)), shape)
}

/// `SETNX key value`.
pub(super) fn set_if_absent(words: &Words<'_>) -> Result<Request, String> {
    change(put(words, 2, (Expiry::Never, Only::IfAbsent, Old::Dropped)), Shape::Flag)
}

/// `GETSET key value`.
pub(super) fn get_and_set(words: &Words<'_>) -> Result<Request, String> {
    change(put(words, 2, (Expiry::Never, Only::Always, Old::Given)), Shape::Old)
}

/// `SETEX key seconds value`, `PSETEX key milliseconds value`.
pub(super) fn set_for(words: &Words<'_>, unit: Unit) -> Result<Request, String> {
    let expiry = expiries::after(words, 2, unit)?;
    change(put(words, 3, (expiry, Only::Always, Old::Dropped)), Shape::Ok)
}

/// `GETEX key [EX … | PX … | EXAT … | PXAT … | PERSIST]`.
pub(super) fn get_and_expire(words: &Words<'_>) -> Result<Request, String> {
    let (mut expiry, mut at) = (None, 2);
    while at < words.command().len() {
        let option = words.at(at).to_ascii_lowercase();
        expiry = Some(expiries::option(expiry, &option, words.command(), &mut at)?);
        at += 1;
    }
    let Some(expiry) = expiry else { return ask(Query::Get(words.key()), Shape::Bulk) };
    if expiry == Lasting::Keep {
        return Err(SYNTAX.to_owned());
    }
    match expiry.read(words) {
        Ok(expiry) => change(DatabaseChange::Touch(words.key(), expiry), Shape::Bulk),
        // Redis checks the time only if the key exists.
        Err(text) => ask(Query::Get(words.key()), Shape::NullOrError(text)),
    }
}

/// `DECRBY key number`.
pub(super) fn subtract(words: &Words<'_>) -> Result<Request, String> {
    let amount = words.number(2)?.checked_neg().ok_or("ERR decrement would overflow")?;
    change(DatabaseChange::Add(words.key(), amount), Shape::Number)
}

/// `SETRANGE key offset value`.
pub(super) fn set_range(words: &Words<'_>) -> Result<Request, String> {
    let at = usize::try_from(words.number(2)?).map_err(|_| "ERR offset is out of range")?;
    change(DatabaseChange::Overwrite(words.key(), at, words.copy(3)), Shape::Number)
}

/// `RENAME key new`, `RENAMENX key new`.
pub(super) fn rename(words: &Words<'_>, only: Only, shape: Shape) -> Result<Request, String> {
    let (from, to) = (words.key(), words.copy(2));
    change(DatabaseChange::Copy { from, to, only, source: KeyTransfer::Move }, shape)
}

/// `COPY source destination [REPLACE]`, within one database.
pub(super) fn copy(words: &Words<'_>) -> Result<Request, String> {
    let mut only = Only::IfAbsent;
    for option in words.command().arguments_from(3) {
        match &*option.to_ascii_lowercase() {
            b"replace" => only = Only::Always,
            b"db" => {
                return Err("ERR COPY has no DB here; it copies within one database".to_owned());
            }
            _ => return Err(SYNTAX.to_owned()),
        }
    }
    let (from, to) = (words.key(), words.copy(2));
    if from == to {
        return Err("ERR source and destination objects are the same".to_owned());
    }
    change(DatabaseChange::Copy { from, to, only, source: KeyTransfer::Copy }, Shape::Flag)
}

/// `MSET key value …`, `MSETNX key value …`.
pub(super) fn set_all(words: &Words<'_>, only: Only, shape: Shape) -> Result<Request, String> {
    if words.command().len().is_multiple_of(2) {
        return Err(format!("ERR wrong number of arguments for '{}' command", words.name()));
    }
    let pair = |at: usize| (words.copy(at), words.copy(at + 1));
    let pairs = (1..words.command().len()).step_by(2).map(pair).collect();
    change(DatabaseChange::PutAll { pairs, only }, shape)
}
