//! Parses the arguments of commands.
//!
//! Owns the arguments of each command, and Redis' error texts for invalid ones.

use store::{Change, Expiry, ExpiryOnly, Old, Only, Query, Source, Value};
use wire::resp::Command;

use super::expiries::{self, Lasting};
use super::known::Verb;
use super::reply::{Shape, Unit};
pub(super) use super::requested::{Request, SYNTAX, number};
use super::requested::{ask, change};

/// Parses a command whose number of words is valid.
pub(super) fn read(verb: Verb, command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let key = || command.argument(1).into();
    match verb {
        Verb::Get => ask(Query::Get(key()), Shape::Bulk),
        Verb::MGet => ask(Query::GetMany(keys(command)), Shape::Bulks),
        Verb::Exists | Verb::Touch => ask(Query::Exists(keys(command)), Shape::Number),
        Verb::StrLen => ask(Query::Length(key()), Shape::Number),
        Verb::GetRange => {
            let (first, last) = (number(command.argument(2))?, number(command.argument(3))?);
            ask(Query::Get(key()), Shape::Range(first, last))
        }
        Verb::Ttl => ask(Query::Remaining(key()), Shape::Left(Unit::Seconds)),
        Verb::PTtl => ask(Query::Remaining(key()), Shape::Left(Unit::Milliseconds)),
        Verb::ExpireTime => ask(Query::Remaining(key()), Shape::End(Unit::Seconds)),
        Verb::PExpireTime => ask(Query::Remaining(key()), Shape::End(Unit::Milliseconds)),
        Verb::Type => ask(Query::Kind(key()), Shape::Type),
        Verb::DbSize => ask(Query::Count, Shape::Number),
        Verb::Set => set(command, now_ms),
        Verb::SetNx => put(command, command.argument(2), (Only::IfAbsent, Shape::Flag)),
        Verb::GetSet => {
            let value = Value::bytes(command.argument(2));
            let (expiry, only, old) = (Expiry::Never, Only::Always, Old::Given);
            change(Change::Put { key: key(), value, expiry, only, old }, Shape::Old)
        }
        Verb::SetEx => set_for("setex", Unit::Seconds, command, now_ms),
        Verb::PSetEx => set_for("psetex", Unit::Milliseconds, command, now_ms),
        Verb::MSet | Verb::MSetNx => put_all(verb, command),
        Verb::GetDel => change(Change::Take(key()), Shape::Bulk),
        Verb::GetEx => get_and_expire(command, now_ms),
        Verb::Del => change(Change::Delete(keys(command)), Shape::Number),
        Verb::Append => change(Change::Append(key(), command.argument(2).into()), Shape::Number),
        Verb::Incr => change(Change::Add(key(), 1), Shape::Number),
        Verb::Decr => change(Change::Add(key(), -1), Shape::Number),
        Verb::IncrBy => change(Change::Add(key(), number(command.argument(2))?), Shape::Number),
        Verb::DecrBy => {
            let amount = number(command.argument(2))?.checked_neg();
            let amount = amount.ok_or("ERR decrement would overflow")?;
            change(Change::Add(key(), amount), Shape::Number)
        }
        Verb::Expire | Verb::PExpire | Verb::ExpireAt | Verb::PExpireAt => {
            expiries::expire(verb, command, now_ms)
        }
        Verb::Persist => {
            let (expiry, only) = (Expiry::Never, ExpiryOnly::IfAny);
            change(Change::Expire { key: key(), expiry, only }, Shape::Flag)
        }
        Verb::IncrByFloat => {
            change(Change::AddDecimal(key(), command.argument(2).into()), Shape::Bulk)
        }
        Verb::SetRange => set_range(command),
        Verb::Rename => rename(command, Only::Always, Shape::Ok),
        Verb::RenameNx => rename(command, Only::IfAbsent, Shape::Flag),
        Verb::Copy => copy(command),
        Verb::FlushDb => clear(command, Change::Clear),
        Verb::FlushAll => clear(command, Change::ClearAll),
        Verb::Config
        | Verb::Discard
        | Verb::Exec
        | Verb::Info
        | Verb::Keys
        | Verb::Memory
        | Verb::Multi
        | Verb::Object
        | Verb::RandomKey
        | Verb::Scan
        | Verb::Select
        | Verb::Unwatch
        | Verb::Watch => Err(format!("ERR {verb:?} is no step")),
    }
}

/// `FLUSHDB [SYNC | ASYNC]` and `FLUSHALL`; both are the same here.
fn clear(command: &Command<'_>, cleared: Change) -> Result<Request, String> {
    let option = command.argument(1).to_ascii_lowercase();
    if !matches!(&*option, b"" | b"sync" | b"async") {
        return Err(SYNTAX.to_owned());
    }
    change(cleared, Shape::Ok)
}

fn keys(command: &Command<'_>) -> Vec<Box<[u8]>> {
    command.arguments_from(1).map(Into::into).collect()
}

fn put(
    command: &Command<'_>,
    bytes: &[u8],
    (only, shape): (Only, Shape),
) -> Result<Request, String> {
    let (key, value) = (command.argument(1).into(), Value::bytes(bytes));
    change(Change::Put { key, value, expiry: Expiry::Never, only, old: Old::Dropped }, shape)
}

/// `SET key value [NX | XX] [GET] [EX … | PX … | EXAT … | PXAT … | KEEPTTL]`.
fn set(command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let (mut expiry, mut only, mut old) = (None, Only::Always, Old::Dropped);
    let mut at = 3;
    while at < command.len() {
        match &*command.argument(at).to_ascii_lowercase() {
            b"nx" if only != Only::IfPresent => only = Only::IfAbsent,
            b"xx" if only != Only::IfAbsent => only = Only::IfPresent,
            b"get" => old = Old::Given,
            option => expiry = Some(expiries::option(expiry, option, command, &mut at)?),
        }
        at += 1;
    }
    // Redis reports wrong syntax before wrong times.
    let expiry = expiry.map_or(Ok(Expiry::Never), |expiry| match expiry {
        Lasting::Persist => Err(SYNTAX.to_owned()),
        expiry => expiry.read(command, now_ms, "set"),
    })?;
    let shape = if old == Old::Given { Shape::Old } else { Shape::OkOrNull };
    let (key, value) = (command.argument(1).into(), Value::bytes(command.argument(2)));
    change(Change::Put { key, value, expiry, only, old }, shape)
}

/// `GETEX key [EX … | PX … | EXAT … | PXAT … | PERSIST]`.
fn get_and_expire(command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let key = command.argument(1).into();
    let (mut expiry, mut at) = (None, 2);
    while at < command.len() {
        let option = command.argument(at).to_ascii_lowercase();
        expiry = Some(expiries::option(expiry, &option, command, &mut at)?);
        at += 1;
    }
    let Some(expiry) = expiry else { return ask(Query::Get(key), Shape::Bulk) };
    if expiry == Lasting::Keep {
        return Err(SYNTAX.to_owned());
    }
    match expiry.read(command, now_ms, "getex") {
        Ok(expiry) => change(Change::Touch(key, expiry), Shape::Bulk),
        // Redis checks the time only if the key exists.
        Err(text) => ask(Query::Get(key), Shape::NullOrError(text)),
    }
}

/// `SETRANGE key offset value`.
fn set_range(command: &Command<'_>) -> Result<Request, String> {
    let at = usize::try_from(number(command.argument(2))?);
    let at = at.map_err(|_| "ERR offset is out of range")?;
    let (key, bytes) = (command.argument(1).into(), command.argument(3).into());
    change(Change::Overwrite(key, at, bytes), Shape::Number)
}

fn rename(command: &Command<'_>, only: Only, shape: Shape) -> Result<Request, String> {
    let (from, to) = (command.argument(1).into(), command.argument(2).into());
    change(Change::Copy { from, to, only, source: Source::Deleted }, shape)
}

/// `SETEX key seconds value`, `PSETEX key milliseconds value`.
fn set_for(name: &str, unit: Unit, command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let expiry = expiries::after(command.argument(2), unit, now_ms, name)?;
    let (key, value) = (command.argument(1).into(), Value::bytes(command.argument(3)));
    let (only, old) = (Only::Always, Old::Dropped);
    change(Change::Put { key, value, expiry, only, old }, Shape::Ok)
}

/// `COPY source destination [REPLACE]`, within one database.
fn copy(command: &Command<'_>) -> Result<Request, String> {
    let mut only = Only::IfAbsent;
    for option in command.arguments_from(3) {
        match &*option.to_ascii_lowercase() {
            b"replace" => only = Only::Always,
            b"db" => {
                return Err("ERR COPY has no DB here; it copies within one database".to_owned());
            }
            _ => return Err(SYNTAX.to_owned()),
        }
    }
    let (from, to): (Box<[u8]>, Box<[u8]>) =
        (command.argument(1).into(), command.argument(2).into());
    if from == to {
        return Err("ERR source and destination objects are the same".to_owned());
    }
    change(Change::Copy { from, to, only, source: Source::Kept }, Shape::Flag)
}

fn put_all(verb: Verb, command: &Command<'_>) -> Result<Request, String> {
    let (name, only, shape) = match verb {
        Verb::MSetNx => ("msetnx", Only::IfAbsent, Shape::Flag),
        _ => ("mset", Only::Always, Shape::Ok),
    };
    if command.len().is_multiple_of(2) {
        return Err(format!("ERR wrong number of arguments for '{name}' command"));
    }
    let pair = |at: usize| (command.argument(at).into(), command.argument(at + 1).into());
    let pairs = (1..command.len()).step_by(2).map(pair).collect();
    change(Change::PutAll { pairs, only }, shape)
}
