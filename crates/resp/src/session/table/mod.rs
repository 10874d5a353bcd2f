//! The table of all commands.
//!
//! Owns the rows: what `COMMAND` tells, what the documentation says, who may send a command, and how it is carried out
//! are one row. A name is found by a hash that the compiler has found to be perfect.

mod row;

use store::{DatabaseChange, Only, Query};

use super::reply::Shape;
use super::reply::Unit::{Milliseconds, Seconds};
use super::requested::{ask, change};
use super::values::Wanted;
use super::{
    about, catalog, client, connection, expiries, inspecting, listing, pubsub, scanning, steps,
    transaction, values,
};

pub(super) use self::row::{Access, Keys, Row, Run};

/// More words than a command can have.
const ANY: usize = usize::MAX;

/// Makes the table. A row: name, numbers of words, access, keys, how it is carried out; then the words behind the name,
/// and what it does.
macro_rules! rows {
    ($($name:literal $least:literal..=$most:tt $access:ident $keys:ident $run:ident($($how:tt)*)
        $usage:literal $summary:literal;)*) => {
        /// By name.
        const ROWS: &[Row] = &[$(Row::new(
            $name,
            $least..=$most,
            Access::$access,
            Keys::$keys,
            Run::$run($($how)*),
            $usage,
            $summary,
        )),*];
    };
}

rows! {
    "append" 3..=3 Write ONE
        Step(|words| change(DatabaseChange::Append(words.key(), words.copy(2)), Shape::Number))
        "key value" "Appends to the value of a key.";
    "auth" 2..=ANY Free NONE Refused(connection::auth) "[user] key | token" "Authenticates the connection.";
    "client" 2..=ANY Free NONE Now(client::run)
        "subcommand …" "Shows and changes the properties of the connection.";
    "command" 1..=ANY Free NONE Queued(|call| catalog::run(call, ROWS))
        "[COUNT | LIST | INFO | DOCS | GETKEYS …]" "Tells about commands.";
    "config" 2..=ANY Free NONE Queued(about::config) "GET pattern …" "Returns parameters of the server.";
    "copy" 3..=ANY Write TWO Step(steps::copy)
        "source destination [REPLACE]" "Copies the value of a key to another key.";
    "dbsize" 1..=1 Read NONE Step(|_| ask(Query::Count, Shape::Number)) "" "Returns the number of keys.";
    "decr" 2..=2 Write ONE Step(|words| change(DatabaseChange::Add(words.key(), -1), Shape::Number))
        "key" "Subtracts one from an integer.";
    "decrby" 3..=3 Write ONE Step(steps::subtract) "key number" "Subtracts a number from an integer.";
    "del" 2..=ANY Write ALL Step(|words| change(DatabaseChange::Delete(words.keys()), Shape::Number))
        "key …" "Deletes keys.";
    "discard" 1..=1 Store NONE Now(transaction::discard) "" "Drops a transaction.";
    "echo" 2..=2 Free NONE Queued(connection::echo) "word" "Returns its word.";
    "exec" 1..=1 Store NONE Now(transaction::exec) "" "Executes a transaction.";
    "exists" 2..=ANY Read ALL Keys(Wanted::Number) "key …" "Counts the keys that exist.";
    "expire" 3..=ANY Write ONE Step(|words| expiries::expire_after(words, Seconds))
        "key seconds [NX | XX | GT | LT]" "Sets the expiry of a key in seconds.";
    "expireat" 3..=ANY Write ONE Step(|words| expiries::expire_at(words, Seconds))
        "key time [NX | XX | GT | LT]" "Sets the expiry of a key to a time in seconds.";
    "expiretime" 2..=2 Read ONE Step(|words| ask(Query::Remaining(words.key()), Shape::End(Seconds)))
        "key" "Returns the time in seconds at which a key expires.";
    "flushall" 1..=2 WriteAll NONE Step(|words| steps::clear(words, DatabaseChange::ClearAll))
        "[SYNC | ASYNC]" "Deletes all keys of all databases.";
    "flushdb" 1..=2 Write NONE Step(|words| steps::clear(words, DatabaseChange::Clear))
        "[SYNC | ASYNC]" "Deletes all keys of the database.";
    "get" 2..=2 Read ONE Value(|_| Ok(Shape::Bulk)) "key" "Returns the value of a key.";
    "getdel" 2..=2 Write ONE Step(|words| change(DatabaseChange::Take(words.key()), Shape::Bulk))
        "key" "Returns the value of a key, and deletes the key.";
    "getex" 2..=ANY Write ONE Step(steps::get_and_expire)
        "key [EX seconds | PX milliseconds | EXAT time | PXAT time-ms | PERSIST]"
        "Returns the value of a key, and changes its expiry.";
    "getrange" 4..=4 Read ONE Value(values::range)
        "key first last" "Returns a part of the value of a key.";
    "getset" 3..=3 Write ONE Step(steps::get_and_set)
        "key value" "Sets the value of a key, and returns the one before.";
    "hello" 1..=ANY Free NONE Refused(connection::hello)
        "[2 | 3 [AUTH user key] [SETNAME name]]" "Chooses the version of the protocol.";
    "incr" 2..=2 Write ONE Step(|words| change(DatabaseChange::Add(words.key(), 1), Shape::Number))
        "key" "Adds one to an integer.";
    "incrby" 3..=3 Write ONE
        Step(|words| change(DatabaseChange::Add(words.key(), words.number(2)?), Shape::Number))
        "key number" "Adds a number to an integer.";
    "incrbyfloat" 3..=3 Write ONE
        Step(|words| change(DatabaseChange::AddDecimal(words.key(), words.copy(2)), Shape::Bulk))
        "key number" "Adds a number with a fraction to one.";
    "info" 1..=ANY Free NONE Queued(about::info) "[section …]" "Returns numbers about the server.";
    "keys" 2..=2 Read NONE Queued(listing::run) "pattern" "Returns all keys that match a pattern.";
    "memory" 2..=ANY Read SECOND_WORD Queued(inspecting::memory)
        "USAGE key [SAMPLES count]" "Returns the bytes that a key takes.";
    "mget" 2..=ANY Read ALL Keys(Wanted::Values) "key …" "Returns the values of keys.";
    "mset" 3..=ANY Write PAIRS Step(|words| steps::set_all(words, Only::Always, Shape::Ok))
        "key value …" "Sets the values of keys.";
    "msetnx" 3..=ANY Write PAIRS Step(|words| steps::set_all(words, Only::IfAbsent, Shape::Flag))
        "key value …" "Sets the values of keys, if none of them exists.";
    "multi" 1..=1 Store NONE Now(transaction::multi) "" "Begins a transaction.";
    "object" 2..=ANY Read SECOND_WORD Queued(inspecting::object)
        "ENCODING | REFCOUNT | IDLETIME key" "Returns how a value is kept.";
    "persist" 2..=2 Write ONE Step(expiries::persist) "key" "Removes the expiry of a key.";
    "pexpire" 3..=ANY Write ONE Step(|words| expiries::expire_after(words, Milliseconds))
        "key milliseconds [NX | XX | GT | LT]" "Sets the expiry of a key in milliseconds.";
    "pexpireat" 3..=ANY Write ONE Step(|words| expiries::expire_at(words, Milliseconds))
        "key time-ms [NX | XX | GT | LT]" "Sets the expiry of a key to a time in milliseconds.";
    "pexpiretime" 2..=2 Read ONE
        Step(|words| ask(Query::Remaining(words.key()), Shape::End(Milliseconds)))
        "key" "Returns the time in milliseconds at which a key expires.";
    "ping" 1..=2 Free NONE Queued(connection::ping) "[word]" "Returns PONG, or its word.";
    "psetex" 4..=4 Write ONE Step(|words| steps::set_for(words, Milliseconds))
        "key milliseconds value" "Sets the value of a key and its expiry in milliseconds.";
    "psubscribe" 2..=ANY Free NONE Refused(pubsub::subscribe)
        "pattern …" "Subscribes to channels whose names match.";
    "pttl" 2..=2 Read ONE Step(|words| ask(Query::Remaining(words.key()), Shape::Left(Milliseconds)))
        "key" "Returns the milliseconds until a key expires.";
    "publish" 3..=3 Free NONE Queued(pubsub::publish) "channel message" "Sends a message to a channel.";
    "pubsub" 2..=ANY Free NONE Queued(pubsub::about)
        "CHANNELS | NUMSUB | NUMPAT …" "Tells about channels and subscribers.";
    "punsubscribe" 1..=ANY Free NONE Refused(pubsub::unsubscribe)
        "[pattern …]" "Ends subscriptions to patterns.";
    "quit" 1..=ANY Free NONE Now(connection::quit) "" "Closes the connection.";
    "randomkey" 1..=1 Read NONE Queued(inspecting::random_key) "" "Returns some key.";
    "rename" 3..=3 Write TWO Step(|words| steps::rename(words, Only::Always, Shape::Ok))
        "key new" "Renames a key.";
    "renamenx" 3..=3 Write TWO Step(|words| steps::rename(words, Only::IfAbsent, Shape::Flag))
        "key new" "Renames a key, unless the new name exists.";
    "reset" 1..=1 Free NONE Now(connection::reset) "" "Resets the connection.";
    "role" 1..=1 Free NONE Queued(connection::role) "" "Returns the role of the server.";
    "scan" 2..=ANY Read NONE Queued(scanning::run) "cursor [MATCH pattern] [COUNT count] [TYPE type]"
        "Returns some keys, and a cursor for the next ones.";
    "select" 2..=2 Store NONE Now(transaction::select) "number | name" "Chooses the database.";
    "set" 3..=ANY Write ONE Step(steps::set)
        "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT time | PXAT time-ms | KEEPTTL]"
        "Sets the value of a key, and perhaps its expiry.";
    "setex" 4..=4 Write ONE Step(|words| steps::set_for(words, Seconds))
        "key seconds value" "Sets the value of a key and its expiry in seconds.";
    "setnx" 3..=3 Write ONE Step(steps::set_if_absent)
        "key value" "Sets the value of a key, unless it exists.";
    "setrange" 4..=4 Write ONE Step(steps::set_range)
        "key offset value" "Overwrites a part of the value of a key.";
    "strlen" 2..=2 Read ONE Step(|words| ask(Query::Length(words.key()), Shape::Number))
        "key" "Returns the length of the value of a key.";
    "subscribe" 2..=ANY Free NONE Refused(pubsub::subscribe) "channel …" "Subscribes to channels.";
    "substr" 4..=4 Read ONE Value(values::range) "key first last" "Returns a part of the value of a key.";
    "time" 1..=1 Free NONE Queued(connection::time) "" "Returns the time of the server.";
    "touch" 2..=ANY Read ALL Keys(Wanted::Number) "key …" "Counts the keys that exist.";
    "ttl" 2..=2 Read ONE Step(|words| ask(Query::Remaining(words.key()), Shape::Left(Seconds)))
        "key" "Returns the seconds until a key expires.";
    "type" 2..=2 Read ONE Step(|words| ask(Query::Kind(words.key()), Shape::Type))
        "key" "Returns the type of a value.";
    "unlink" 2..=ANY Write ALL Step(|words| change(DatabaseChange::Delete(words.keys()), Shape::Number))
        "key …" "Deletes keys.";
    "unsubscribe" 1..=ANY Free NONE Refused(pubsub::unsubscribe)
        "[channel …]" "Ends subscriptions to channels.";
    "unwatch" 1..=1 Store NONE Now(transaction::unwatch) "" "Forgets the watched keys.";
    "watch" 2..=ANY Read ALL Now(transaction::watch)
        "key …" "Lets the next transaction fail if a key changes.";
}

/// The names of all rows, for the search for the hash.
const NAMES: [&str; ROWS.len()] = {
    let (mut names, mut row) = ([""; ROWS.len()], 0);
    while row < names.len() {
        names[row] = ROWS[row].name();
        row += 1;
    }
    names
};

/// Bytes of the longest name. A longer word, which may have megabytes, is not hashed.
const LONGEST: usize = {
    let (mut longest, mut row) = (0, 0);
    while row < NAMES.len() {
        if NAMES[row].len() > longest {
            longest = NAMES[row].len();
        }
        row += 1;
    }
    longest
};

/// Slots of the hash table: so many that a hash without two names in one slot is soon found.
const SLOTS: usize = 1024;

/// No command is in a slot.
const EMPTY: u8 = u8::MAX;

/// A hash of names for which each has a slot of its own.
struct PerfectHash {
    multiplier: u32,
    /// The number of the row in each slot.
    rows: [u8; SLOTS],
}

static PERFECT: PerfectHash = PerfectHash::find();

impl PerfectHash {
    const fn find() -> Self {
        assert!(NAMES.len() < EMPTY as usize);
        let mut multiplier = 0x9e37_79b1;
        'search: loop {
            let (mut rows, mut row) = ([EMPTY; SLOTS], 0);
            while row < NAMES.len() {
                let slot = slot(NAMES[row].as_bytes(), multiplier);
                if rows[slot] != EMPTY {
                    multiplier = multiplier.wrapping_add(2);
                    continue 'search;
                }
                rows[slot] = row as u8;
                row += 1;
            }
            return Self { multiplier, rows };
        }
    }
}

const fn slot(name: &[u8], multiplier: u32) -> usize {
    let (mut hash, mut at) = (0_u32, 0);
    while at < name.len() {
        // Without the bit that tells capital letters.
        hash = (hash ^ (name[at] | 0x20) as u32).wrapping_mul(multiplier);
        at += 1;
    }
    (hash >> 16) as usize % SLOTS
}

/// Finds a command by its name, in capital or small letters: its number and its row.
#[inline]
pub(super) fn find(name: &[u8]) -> Option<(usize, &'static Row)> {
    if name.len() > LONGEST {
        return None;
    }
    let number = usize::from(PERFECT.rows[slot(name, PERFECT.multiplier)]);
    let row = ROWS.get(number)?;
    name.eq_ignore_ascii_case(row.name().as_bytes()).then_some((number, row))
}

/// The names of all commands, in the order of their numbers.
pub fn command_names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name())
}

/// The table of commands in the documentation.
pub fn command_table() -> String {
    let head = "| command | what it does |\n| --- | --- |\n".to_owned();
    ROWS.iter().fold(head, |table, row| table + &row.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_letters_and_no_other() {
        for (number, row) in ROWS.iter().enumerate() {
            for name in [row.name().to_owned(), row.name().to_ascii_uppercase()] {
                let found = find(name.as_bytes()).map(|(found, _)| found);
                assert_eq!(found, Some(number), "{name}");
            }
            assert!(find(format!("{}_", row.name()).as_bytes()).is_none());
            let shorter = find(&row.name().as_bytes()[1..]);
            assert!(shorter.is_none_or(|(found, _)| found != number));
        }
        assert!(find(b"").is_none() && find(&[0xff; 300]).is_none());
    }

    #[test]
    fn rows_are_in_order_and_agree_with_themselves() {
        assert!(ROWS.is_sorted_by(|one, next| one.name() < next.name()));
        for row in ROWS {
            let (least, most) = (*row.words().start() as i64, *row.words().end());
            let (first, last, step) = (row.keys().first(), row.keys().last(), row.keys().step());
            assert!(least >= 1 && last <= least && first <= least, "{}", row.name());
            let has_none = first == 0;
            assert_eq!((last == 0, step == 0), (has_none, has_none), "{}", row.name());
            // A list of keys goes on to the last word.
            assert!(last != -1 || most == ANY, "{}", row.name());
            assert!(if row.usage().is_empty() { least == 1 } else { most > 1 }, "{}", row.name());
            assert!(row.summary().ends_with('.'), "{}", row.name());
        }
    }
}
