//! The list of commands that use the store.
//!
//! Owns their names, their number of words, and the rights that a client needs for each.

use std::ops::RangeInclusive;

use crate::site::Need;

/// A command of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Verb {
    Append,
    Config,
    DbSize,
    Decr,
    DecrBy,
    Del,
    Discard,
    Exec,
    Exists,
    Expire,
    ExpireAt,
    ExpireTime,
    FlushAll,
    FlushDb,
    Get,
    GetDel,
    GetEx,
    GetRange,
    GetSet,
    Incr,
    IncrBy,
    Info,
    Keys,
    MGet,
    MSet,
    MSetNx,
    Multi,
    PExpire,
    PExpireAt,
    PExpireTime,
    PSetEx,
    PTtl,
    Persist,
    Scan,
    Select,
    Set,
    SetEx,
    SetNx,
    StrLen,
    Touch,
    Ttl,
    Type,
    Unwatch,
    Watch,
}

/// The properties of a command.
#[derive(Debug)]
pub(in super::super) struct Known {
    name: &'static str,
    pub(super) verb: Verb,
    /// The number of words, including the name.
    pub(super) arguments: RangeInclusive<usize>,
    /// The right that a client needs.
    pub(super) need: Option<Need>,
}

const fn of(
    name: &'static str,
    verb: Verb,
    (least, most): (usize, usize),
    need: Option<Need>,
) -> Known {
    Known { name, verb, arguments: least..=most, need }
}

const ANY: usize = usize::MAX;
const READ: Option<Need> = Some(Need::Read);
const WRITE: Option<Need> = Some(Need::Write);

/// In search order: frequent commands first.
static ALL: [Known; 46] = [
    of("get", Verb::Get, (2, 2), READ),
    of("set", Verb::Set, (3, ANY), WRITE),
    of("mget", Verb::MGet, (2, ANY), READ),
    of("incr", Verb::Incr, (2, 2), WRITE),
    of("del", Verb::Del, (2, ANY), WRITE),
    of("exists", Verb::Exists, (2, ANY), READ),
    of("expire", Verb::Expire, (3, 4), WRITE),
    of("append", Verb::Append, (3, 3), WRITE),
    of("config", Verb::Config, (2, ANY), None),
    of("dbsize", Verb::DbSize, (1, 1), READ),
    of("decr", Verb::Decr, (2, 2), WRITE),
    of("decrby", Verb::DecrBy, (3, 3), WRITE),
    of("discard", Verb::Discard, (1, 1), None),
    of("exec", Verb::Exec, (1, 1), None),
    of("expireat", Verb::ExpireAt, (3, 4), WRITE),
    of("expiretime", Verb::ExpireTime, (2, 2), READ),
    of("flushall", Verb::FlushAll, (1, 2), Some(Need::WriteAll)),
    of("flushdb", Verb::FlushDb, (1, 2), WRITE),
    of("getdel", Verb::GetDel, (2, 2), WRITE),
    of("getex", Verb::GetEx, (2, ANY), WRITE),
    of("getrange", Verb::GetRange, (4, 4), READ),
    of("getset", Verb::GetSet, (3, 3), WRITE),
    of("incrby", Verb::IncrBy, (3, 3), WRITE),
    of("info", Verb::Info, (1, ANY), None),
    of("keys", Verb::Keys, (2, 2), READ),
    of("mset", Verb::MSet, (3, ANY), WRITE),
    of("msetnx", Verb::MSetNx, (3, ANY), WRITE),
    of("multi", Verb::Multi, (1, 1), None),
    of("persist", Verb::Persist, (2, 2), WRITE),
    of("pexpire", Verb::PExpire, (3, 4), WRITE),
    of("pexpireat", Verb::PExpireAt, (3, 4), WRITE),
    of("pexpiretime", Verb::PExpireTime, (2, 2), READ),
    of("psetex", Verb::PSetEx, (4, 4), WRITE),
    of("pttl", Verb::PTtl, (2, 2), READ),
    of("scan", Verb::Scan, (2, ANY), READ),
    of("select", Verb::Select, (2, 2), None),
    of("setex", Verb::SetEx, (4, 4), WRITE),
    of("setnx", Verb::SetNx, (3, 3), WRITE),
    of("strlen", Verb::StrLen, (2, 2), READ),
    of("substr", Verb::GetRange, (4, 4), READ),
    of("touch", Verb::Touch, (2, ANY), READ),
    of("ttl", Verb::Ttl, (2, 2), READ),
    of("type", Verb::Type, (2, 2), READ),
    of("unlink", Verb::Del, (2, ANY), WRITE),
    of("unwatch", Verb::Unwatch, (1, 1), None),
    of("watch", Verb::Watch, (2, ANY), READ),
];

/// Finds a command by name, case-insensitively.
pub(in super::super) fn find(name: &[u8]) -> Option<&'static Known> {
    ALL.iter().find(|known| name.eq_ignore_ascii_case(known.name.as_bytes()))
}

/// The names of all commands.
pub(in super::super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|known| known.name)
}
