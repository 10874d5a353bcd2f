//! The list of commands that use the store.
//!
//! Owns their names, their number of words, the rights that a client needs for each, and which words are
//! keys.

use std::ops::RangeInclusive;

use super::super::entry::Entry;
use crate::site::Need;

/// A command of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Verb {
    Append,
    Config,
    Copy,
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
    IncrByFloat,
    Info,
    Keys,
    MGet,
    MSet,
    MSetNx,
    Memory,
    Multi,
    Object,
    PExpire,
    PExpireAt,
    PExpireTime,
    PSetEx,
    PTtl,
    Persist,
    RandomKey,
    Rename,
    RenameNx,
    Scan,
    Select,
    Set,
    SetEx,
    SetNx,
    SetRange,
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
    pub(in super::super) entry: Entry,
    pub(super) verb: Verb,
    /// The right that a client needs.
    pub(super) need: Option<Need>,
}

impl Known {
    /// The number under which its times are counted.
    pub(in super::super) fn number(&self) -> usize {
        self.verb as usize
    }

    /// The numbers of words that it may have, including the name.
    pub(super) fn words(&self) -> &RangeInclusive<usize> {
        &self.entry.words
    }
}

/// The words that are keys: the first, the last and the distance of two.
type Keys = (i64, i64, i64);

const fn of(
    name: &'static str,
    verb: Verb,
    (least, most): (usize, usize),
    need: Option<Need>,
    (keys, summary): (Keys, &'static str),
) -> Known {
    let flags: &[&str] = match need {
        Some(Need::Read) => &["readonly"],
        Some(Need::Write | Need::WriteAll) => &["write"],
        None => &[],
    };
    Known { entry: Entry { name, words: least..=most, flags, keys, summary }, verb, need }
}

const ANY: usize = usize::MAX;
const READ: Option<Need> = Some(Need::Read);
const WRITE: Option<Need> = Some(Need::Write);
const ALL_DATABASES: Option<Need> = Some(Need::WriteAll);

const NO_KEY: Keys = (0, 0, 0);
const ONE_KEY: Keys = (1, 1, 1);
const TWO_KEYS: Keys = (1, 2, 1);
const ALL_KEYS: Keys = (1, -1, 1);
const PAIRS: Keys = (1, -1, 2);
const SECOND_WORD: Keys = (2, 2, 1);

/// In search order: frequent commands first.
static ALL: [Known; 54] = [
    of("get", Verb::Get, (2, 2), READ, (ONE_KEY, "Returns the value of a key.")),
    of(
        "set",
        Verb::Set,
        (3, ANY),
        WRITE,
        (ONE_KEY, "Sets the value of a key, and perhaps its expiry."),
    ),
    of("mget", Verb::MGet, (2, ANY), READ, (ALL_KEYS, "Returns the values of keys.")),
    of("incr", Verb::Incr, (2, 2), WRITE, (ONE_KEY, "Adds one to an integer.")),
    of("del", Verb::Del, (2, ANY), WRITE, (ALL_KEYS, "Deletes keys.")),
    of("exists", Verb::Exists, (2, ANY), READ, (ALL_KEYS, "Counts the keys that exist.")),
    of("expire", Verb::Expire, (3, ANY), WRITE, (ONE_KEY, "Sets the expiry of a key in seconds.")),
    of("append", Verb::Append, (3, 3), WRITE, (ONE_KEY, "Appends to the value of a key.")),
    of("config", Verb::Config, (2, ANY), None, (NO_KEY, "Returns parameters of the server.")),
    of(
        "copy",
        Verb::Copy,
        (3, ANY),
        WRITE,
        (TWO_KEYS, "Copies the value of a key to another key."),
    ),
    of("dbsize", Verb::DbSize, (1, 1), READ, (NO_KEY, "Returns the number of keys.")),
    of("decr", Verb::Decr, (2, 2), WRITE, (ONE_KEY, "Subtracts one from an integer.")),
    of("decrby", Verb::DecrBy, (3, 3), WRITE, (ONE_KEY, "Subtracts a number from an integer.")),
    of("discard", Verb::Discard, (1, 1), None, (NO_KEY, "Drops a transaction.")),
    of("exec", Verb::Exec, (1, 1), None, (NO_KEY, "Executes a transaction.")),
    of(
        "expireat",
        Verb::ExpireAt,
        (3, ANY),
        WRITE,
        (ONE_KEY, "Sets the expiry of a key to a time in seconds."),
    ),
    of(
        "expiretime",
        Verb::ExpireTime,
        (2, 2),
        READ,
        (ONE_KEY, "Returns the time in seconds at which a key expires."),
    ),
    of(
        "flushall",
        Verb::FlushAll,
        (1, 2),
        ALL_DATABASES,
        (NO_KEY, "Deletes all keys of all databases."),
    ),
    of("flushdb", Verb::FlushDb, (1, 2), WRITE, (NO_KEY, "Deletes all keys of the database.")),
    of(
        "getdel",
        Verb::GetDel,
        (2, 2),
        WRITE,
        (ONE_KEY, "Returns the value of a key, and deletes the key."),
    ),
    of(
        "getex",
        Verb::GetEx,
        (2, ANY),
        WRITE,
        (ONE_KEY, "Returns the value of a key, and changes its expiry."),
    ),
    of(
        "getrange",
        Verb::GetRange,
        (4, 4),
        READ,
        (ONE_KEY, "Returns a part of the value of a key."),
    ),
    of(
        "getset",
        Verb::GetSet,
        (3, 3),
        WRITE,
        (ONE_KEY, "Sets the value of a key, and returns the one before."),
    ),
    of("incrby", Verb::IncrBy, (3, 3), WRITE, (ONE_KEY, "Adds a number to an integer.")),
    of(
        "incrbyfloat",
        Verb::IncrByFloat,
        (3, 3),
        WRITE,
        (ONE_KEY, "Adds a number with a fraction to one."),
    ),
    of("info", Verb::Info, (1, ANY), None, (NO_KEY, "Returns numbers about the server.")),
    of("keys", Verb::Keys, (2, 2), READ, (NO_KEY, "Returns all keys that match a pattern.")),
    of(
        "memory",
        Verb::Memory,
        (2, ANY),
        READ,
        (SECOND_WORD, "Returns the bytes that a key takes."),
    ),
    of("mset", Verb::MSet, (3, ANY), WRITE, (PAIRS, "Sets the values of keys.")),
    of(
        "msetnx",
        Verb::MSetNx,
        (3, ANY),
        WRITE,
        (PAIRS, "Sets the values of keys, if none of them exists."),
    ),
    of("multi", Verb::Multi, (1, 1), None, (NO_KEY, "Begins a transaction.")),
    of("object", Verb::Object, (2, ANY), READ, (SECOND_WORD, "Returns how a value is kept.")),
    of("persist", Verb::Persist, (2, 2), WRITE, (ONE_KEY, "Removes the expiry of a key.")),
    of(
        "pexpire",
        Verb::PExpire,
        (3, ANY),
        WRITE,
        (ONE_KEY, "Sets the expiry of a key in milliseconds."),
    ),
    of(
        "pexpireat",
        Verb::PExpireAt,
        (3, ANY),
        WRITE,
        (ONE_KEY, "Sets the expiry of a key to a time in milliseconds."),
    ),
    of(
        "pexpiretime",
        Verb::PExpireTime,
        (2, 2),
        READ,
        (ONE_KEY, "Returns the time in milliseconds at which a key expires."),
    ),
    of(
        "psetex",
        Verb::PSetEx,
        (4, 4),
        WRITE,
        (ONE_KEY, "Sets the value of a key and its expiry in milliseconds."),
    ),
    of(
        "pttl",
        Verb::PTtl,
        (2, 2),
        READ,
        (ONE_KEY, "Returns the milliseconds until a key expires."),
    ),
    of("randomkey", Verb::RandomKey, (1, 1), READ, (NO_KEY, "Returns some key.")),
    of("rename", Verb::Rename, (3, 3), WRITE, (TWO_KEYS, "Renames a key.")),
    of(
        "renamenx",
        Verb::RenameNx,
        (3, 3),
        WRITE,
        (TWO_KEYS, "Renames a key, unless the new name exists."),
    ),
    of(
        "scan",
        Verb::Scan,
        (2, ANY),
        READ,
        (NO_KEY, "Returns some keys, and a cursor for the next ones."),
    ),
    of("select", Verb::Select, (2, 2), None, (NO_KEY, "Chooses the database.")),
    of(
        "setex",
        Verb::SetEx,
        (4, 4),
        WRITE,
        (ONE_KEY, "Sets the value of a key and its expiry in seconds."),
    ),
    of(
        "setnx",
        Verb::SetNx,
        (3, 3),
        WRITE,
        (ONE_KEY, "Sets the value of a key, unless it exists."),
    ),
    of(
        "setrange",
        Verb::SetRange,
        (4, 4),
        WRITE,
        (ONE_KEY, "Overwrites a part of the value of a key."),
    ),
    of(
        "strlen",
        Verb::StrLen,
        (2, 2),
        READ,
        (ONE_KEY, "Returns the length of the value of a key."),
    ),
    of("substr", Verb::GetRange, (4, 4), READ, (ONE_KEY, "Returns a part of the value of a key.")),
    of("touch", Verb::Touch, (2, ANY), READ, (ALL_KEYS, "Counts the keys that exist.")),
    of("ttl", Verb::Ttl, (2, 2), READ, (ONE_KEY, "Returns the seconds until a key expires.")),
    of("type", Verb::Type, (2, 2), READ, (ONE_KEY, "Returns the type of a value.")),
    of("unlink", Verb::Del, (2, ANY), WRITE, (ALL_KEYS, "Deletes keys.")),
    of("unwatch", Verb::Unwatch, (1, 1), None, (NO_KEY, "Forgets the watched keys.")),
    of(
        "watch",
        Verb::Watch,
        (2, ANY),
        READ,
        (ALL_KEYS, "Lets the next transaction fail if a key changes."),
    ),
];

/// Finds a command by name, case-insensitively.
pub(in super::super) fn find(name: &[u8]) -> Option<&'static Known> {
    ALL.iter().find(|known| name.eq_ignore_ascii_case(known.entry.name.as_bytes()))
}

/// The number and the name of each.
pub(in super::super) fn numbered() -> impl Iterator<Item = (usize, &'static str)> {
    ALL.iter().map(|known| (known.number(), known.entry.name))
}

/// What `COMMAND` tells about all of them.
pub(in super::super) fn entries() -> impl Iterator<Item = &'static Entry> {
    ALL.iter().map(|known| &known.entry)
}
