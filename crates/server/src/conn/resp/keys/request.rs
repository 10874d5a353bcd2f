//! Parses the arguments of commands.
//!
//! Owns the arguments of each command, and Redis' error texts for invalid ones.

use store::{Change, Expiry, ExpiryOnly, Old, Only, PageOf, Query, Step, Value, With};
use wire::resp::Command;

use super::known::Verb;
use super::reply::{Shape, Unit};

/// A step, and the format of its reply.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) step: Step,
    pub(super) shape: Shape,
}

const SYNTAX: &str = "ERR syntax error";
const NO_INTEGER: &str = "ERR value is not an integer or out of range";

/// Default number of keys that `SCAN` examines, as in Redis.
const SCAN_COUNT: usize = 10;

fn ask(query: Query, shape: Shape) -> Result<Request, String> {
    Ok(Request { step: Step::Query(query), shape })
}

fn change(change: Change, shape: Shape) -> Result<Request, String> {
    Ok(Request { step: Step::Change(change), shape })
}

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
        Verb::Scan => scan(command),
        Verb::Set => set(command, now_ms),
        Verb::SetNx => put(command, command.argument(2), (Only::IfAbsent, Shape::Flag)),
        Verb::GetSet => {
            let value = Value::bytes(command.argument(2));
            let (expiry, only, old) = (Expiry::Never, Only::Always, Old::Given);
            change(Change::Put { key: key(), value, expiry, only, old }, Shape::Old)
        }
        Verb::SetEx | Verb::PSetEx => {
            let unit = if verb == Verb::SetEx { Unit::Seconds } else { Unit::Milliseconds };
            let name = if verb == Verb::SetEx { "setex" } else { "psetex" };
            let expiry = after(command.argument(2), unit, now_ms, name)?;
            let value = Value::bytes(command.argument(3));
            let (only, old) = (Only::Always, Old::Dropped);
            change(Change::Put { key: key(), value, expiry, only, old }, Shape::Ok)
        }
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
            expire(verb, command, now_ms)
        }
        Verb::Persist => {
            let (expiry, only) = (Expiry::Never, ExpiryOnly::IfAny);
            change(Change::Expire { key: key(), expiry, only }, Shape::Flag)
        }
        Verb::FlushDb | Verb::FlushAll => clear(command),
        Verb::Config
        | Verb::Discard
        | Verb::Exec
        | Verb::Info
        | Verb::Keys
        | Verb::Multi
        | Verb::Select
        | Verb::Unwatch
        | Verb::Watch => Err(format!("ERR {verb:?} is no step")),
    }
}

/// `FLUSHDB [SYNC | ASYNC]`; both are the same here.
fn clear(command: &Command<'_>) -> Result<Request, String> {
    let option = command.argument(1).to_ascii_lowercase();
    if !matches!(&*option, b"" | b"sync" | b"async") {
        return Err(SYNTAX.to_owned());
    }
    change(Change::Clear, Shape::Ok)
}

fn keys(command: &Command<'_>) -> Vec<Box<[u8]>> {
    command.arguments_from(1).map(Into::into).collect()
}

/// A 64-bit integer in the form that Redis accepts.
pub(super) fn number(bytes: &[u8]) -> Result<i64, String> {
    let number: Option<i64> = str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.filter(|number| number.to_string().as_bytes() == bytes).ok_or(NO_INTEGER.to_owned())
}

/// The time after a duration.
fn after(bytes: &[u8], unit: Unit, now_ms: u64, name: &str) -> Result<Expiry, String> {
    let length = milliseconds(bytes, unit, name)?;
    let time = length.checked_add(i64::try_from(now_ms).unwrap_or(i64::MAX));
    at(time.filter(|_| length > 0), name)
}

/// A duration or a time, which may be negative.
fn milliseconds(bytes: &[u8], unit: Unit, name: &str) -> Result<i64, String> {
    let length = number(bytes)?;
    let factor = if unit == Unit::Seconds { 1000 } else { 1 };
    length.checked_mul(factor).ok_or_else(|| invalid(name))
}

fn at(time: Option<i64>, name: &str) -> Result<Expiry, String> {
    let time = time.and_then(|time| u64::try_from(time).ok()).filter(|time| *time > 0);
    time.map(Expiry::At).ok_or_else(|| invalid(name))
}

fn invalid(name: &str) -> String {
    format!("ERR invalid expire time in '{name}' command")
}

fn put(
    command: &Command<'_>,
    bytes: &[u8],
    (only, shape): (Only, Shape),
) -> Result<Request, String> {
    let (key, value) = (command.argument(1).into(), Value::bytes(bytes));
    change(Change::Put { key, value, expiry: Expiry::Never, only, old: Old::Dropped }, shape)
}

/// `EX seconds`, `PX milliseconds`, `EXAT time`, `PXAT time`.
fn expiry_option(
    option: &[u8],
    value: Option<&[u8]>,
    now_ms: u64,
    name: &str,
) -> Option<Result<Expiry, String>> {
    let value = value?;
    Some(match option {
        b"ex" => after(value, Unit::Seconds, now_ms, name),
        b"px" => after(value, Unit::Milliseconds, now_ms, name),
        b"exat" => milliseconds(value, Unit::Seconds, name).and_then(|time| at(Some(time), name)),
        b"pxat" => {
            milliseconds(value, Unit::Milliseconds, name).and_then(|time| at(Some(time), name))
        }
        _ => return None,
    })
}

/// `SET key value [NX | XX] [GET] [EX … | PX … | EXAT … | PXAT … | KEEPTTL]`.
fn set(command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let (mut expiry, mut only, mut old) = (None, Only::Always, Old::Dropped);
    let mut at = 3;
    while at < command.len() {
        let option = command.argument(at).to_ascii_lowercase();
        let value = (at + 1 < command.len()).then(|| command.argument(at + 1));
        match &*option {
            b"nx" if only == Only::Always => only = Only::IfAbsent,
            b"xx" if only == Only::Always => only = Only::IfPresent,
            b"get" => old = Old::Given,
            b"keepttl" if expiry.is_none() => expiry = Some(Expiry::Keep),
            option if expiry.is_none() => {
                let found = expiry_option(option, value, now_ms, "set");
                expiry = Some(found.ok_or(SYNTAX)??);
                at += 1;
            }
            _ => return Err(SYNTAX.to_owned()),
        }
        at += 1;
    }
    let shape = if old == Old::Given { Shape::Old } else { Shape::OkOrNull };
    let (key, value) = (command.argument(1).into(), Value::bytes(command.argument(2)));
    let expiry = expiry.unwrap_or(Expiry::Never);
    change(Change::Put { key, value, expiry, only, old }, shape)
}

/// `GETEX key [EX … | PX … | EXAT … | PXAT … | PERSIST]`.
fn get_and_expire(command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let key = command.argument(1).into();
    let option = command.argument(2).to_ascii_lowercase();
    let expiry = match (&*option, command.len()) {
        (_, 2) => return ask(Query::Get(key), Shape::Bulk),
        (b"persist", 3) => Expiry::Never,
        (option, 4) => {
            expiry_option(option, Some(command.argument(3)), now_ms, "getex").ok_or(SYNTAX)??
        }
        _ => return Err(SYNTAX.to_owned()),
    };
    change(Change::Touch(key, expiry), Shape::Bulk)
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

/// `EXPIRE key seconds [NX | XX | GT | LT]`, and the others with a time or in milliseconds.
fn expire(verb: Verb, command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let (name, unit, from) = match verb {
        Verb::PExpire => ("pexpire", Unit::Milliseconds, now_ms),
        Verb::ExpireAt => ("expireat", Unit::Seconds, 0),
        Verb::PExpireAt => ("pexpireat", Unit::Milliseconds, 0),
        _ => ("expire", Unit::Seconds, now_ms),
    };
    let option = command.argument(3).to_ascii_lowercase();
    let only = match &*option {
        b"" => ExpiryOnly::Always,
        b"nx" => ExpiryOnly::IfNone,
        b"xx" => ExpiryOnly::IfAny,
        b"gt" => ExpiryOnly::IfLater,
        b"lt" => ExpiryOnly::IfSooner,
        other => {
            let shown = String::from_utf8_lossy(other).into_owned();
            return Err(format!("ERR Unsupported option {shown}"));
        }
    };
    let time = milliseconds(command.argument(2), unit, name)?;
    let time = time.checked_add(i64::try_from(from).unwrap_or(i64::MAX));
    // An expiry in the past deletes the key.
    let time = u64::try_from(time.ok_or_else(|| invalid(name))?).unwrap_or(0);
    let key = command.argument(1).into();
    change(Change::Expire { key, expiry: Expiry::At(time), only }, Shape::Flag)
}

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`.
fn scan(command: &Command<'_>) -> Result<Request, String> {
    let cursor = str::from_utf8(command.argument(1)).ok().and_then(|text| text.parse().ok());
    let cursor: u64 = cursor.ok_or("ERR invalid cursor")?;
    let (mut pattern, mut count) = (None, SCAN_COUNT);
    let mut fits_type = true;
    let mut at = 2;
    while at < command.len() {
        let value = command.argument(at + 1);
        match (&*command.argument(at).to_ascii_lowercase(), command.len() - at) {
            (b"match", 2..) => pattern = Some(Box::from(value)),
            (b"count", 2..) => {
                let wanted = usize::try_from(number(value)?).ok().filter(|wanted| *wanted > 0);
                count = wanted.ok_or(SYNTAX)?;
            }
            (b"type", 2..) => fits_type = value.eq_ignore_ascii_case(b"string"),
            _ => return Err(SYNTAX.to_owned()),
        }
        at += 2;
    }
    // There is no other type, so no key matches.
    let pattern = if fits_type { pattern } else { Some(Box::default()) };
    let page = PageOf { keys: count, with: With::Keys, ..PageOf::default() };
    Ok(Request { step: Step::Scan(cursor, page), shape: Shape::Scan(pattern) })
}
