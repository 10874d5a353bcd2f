//! What `COMMAND` tells about commands.
//!
//! Owns the list of the commands that do not use the store, and the format of replies; `keys` has the list of the others.

use std::ops::RangeInclusive;

use wire::resp::{
    Command, Version, write_array, write_bulk, write_error, write_integer, write_map,
    write_null_array, write_simple,
};

use super::entry::Entry;
use super::keys;
use super::wording::shown;
use crate::limits::RESP_COMMAND_NAMES;

const ANY: usize = usize::MAX;

const fn of(name: &'static str, (least, most): (usize, usize), summary: &'static str) -> Entry {
    Entry { name, words: least..=most, flags: &[], keys: (0, 0, 0), summary }
}

/// The commands that do not use the store.
static OTHERS: [Entry; 16] = [
    of("auth", (2, ANY), "Authenticates the connection."),
    of("client", (2, ANY), "Shows and changes the properties of the connection."),
    of("command", (1, ANY), "Tells about commands."),
    of("echo", (2, 2), "Returns its word."),
    of("hello", (1, ANY), "Chooses the version of the protocol."),
    of("ping", (1, 2), "Returns PONG, or its word."),
    of("psubscribe", (2, ANY), "Subscribes to channels whose names match."),
    of("publish", (3, 3), "Sends a message to a channel."),
    of("pubsub", (2, ANY), "Tells about channels and subscribers."),
    of("punsubscribe", (1, ANY), "Ends subscriptions to patterns."),
    of("quit", (1, ANY), "Closes the connection."),
    of("reset", (1, 1), "Resets the connection."),
    of("role", (1, 1), "Returns the role of the server."),
    of("subscribe", (2, ANY), "Subscribes to channels."),
    of("time", (1, 1), "Returns the time of the server."),
    of("unsubscribe", (1, ANY), "Ends subscriptions to channels."),
];

/// Numbers below this are of commands of the store.
const FIRST_NUMBER: usize = 128;

/// The number under which the times of a command are counted; `None` if it is not one of these.
pub(super) fn number(name: &str) -> Option<usize> {
    OTHERS.iter().position(|entry| entry.name == name).map(|place| FIRST_NUMBER + place)
}

/// All commands with their numbers and names.
pub(in crate::conn) fn timed() -> impl Iterator<Item = (usize, &'static str)> {
    let others = OTHERS.iter().enumerate();
    let others = others.map(|(place, entry)| (FIRST_NUMBER + place, entry.name));
    keys::numbered().chain(others)
}

/// The numbers of words that a command may have; `None` if it is not one of these.
pub(super) fn words(name: &str) -> Option<&'static RangeInclusive<usize>> {
    OTHERS.iter().find(|entry| entry.name == name).map(|entry| &entry.words)
}

fn all() -> impl Iterator<Item = &'static Entry> {
    keys::entries().chain(&OTHERS)
}

fn find(name: &[u8]) -> Option<&'static Entry> {
    all().find(|entry| name.eq_ignore_ascii_case(entry.name.as_bytes()))
}

/// `COMMAND`, and its subcommands `COUNT`, `LIST`, `INFO`, `DOCS` and `GETKEYS`.
pub(super) fn run(command: &Command<'_>, version: Version, out: &mut Vec<u8>) {
    let verb = command.argument(1).to_ascii_lowercase();
    if command.len() > RESP_COMMAND_NAMES {
        let text = format!("ERR COMMAND takes at most {RESP_COMMAND_NAMES} words");
        return write_error(out, &text);
    }
    let named = |from: usize| command.arguments_from(from).map(find);
    match (&*verb, command.len()) {
        (_, 1) | (b"info", 2) => {
            write_array(out, all().count());
            all().for_each(|entry| entry.write(out));
        }
        (b"count", 2) => write_integer(out, i64::try_from(all().count()).unwrap_or(i64::MAX)),
        (b"list", 2) => {
            write_array(out, all().count());
            all().for_each(|entry| write_bulk(out, entry.name.as_bytes()));
        }
        (b"info", _) => {
            write_array(out, command.len() - 2);
            for entry in named(2) {
                match entry {
                    Some(entry) => entry.write(out),
                    None => write_null_array(out, version),
                }
            }
        }
        (b"docs", 2) => write_docs(all().collect(), version, out),
        (b"docs", _) => write_docs(named(2).flatten().collect(), version, out),
        (b"getkeys", 3..) => write_keys(command, out),
        (b"help", 2) => {
            write_array(out, HELP.len());
            HELP.iter().for_each(|line| write_simple(out, line));
        }
        _ => {
            let text = format!(
                "ERR unknown subcommand or wrong number of arguments for '{}'. Try COMMAND HELP.",
                shown(&verb)
            );
            write_error(out, &text);
        }
    }
}

fn write_docs(entries: Vec<&Entry>, version: Version, out: &mut Vec<u8>) {
    write_map(out, entries.len(), version);
    for entry in entries {
        write_bulk(out, entry.name.as_bytes());
        write_map(out, 1, version);
        write_bulk(out, b"summary");
        write_bulk(out, entry.summary.as_bytes());
    }
}

/// `COMMAND GETKEYS name word ...`.
fn write_keys(command: &Command<'_>, out: &mut Vec<u8>) {
    let Some(entry) = find(command.argument(2)) else {
        return write_error(out, "ERR Invalid command specified");
    };
    let count = command.len() - 2;
    if !entry.words.contains(&count) {
        let text = "ERR Invalid number of arguments specified for command";
        return write_error(out, text);
    }
    let (first, last, step) = entry.keys;
    let (Ok(first), Ok(step)) = (usize::try_from(first), usize::try_from(step)) else { return };
    if first == 0 {
        return write_error(out, "ERR The command has no key arguments");
    }
    let last = usize::try_from(last).unwrap_or(count - 1).min(count - 1);
    let keys = (first..=last).step_by(step.max(1));
    write_array(out, keys.clone().count());
    keys.for_each(|at| write_bulk(out, command.argument(2 + at)));
}

const HELP: [&str; 6] = [
    "COMMAND <subcommand> [<arg> ...]. Without one, tells about all commands. Subcommands are:",
    "COUNT -- the number of commands.",
    "DOCS, INFO [<name> ...] -- information about commands.",
    "GETKEYS <name> [<arg> ...] -- the words of a command that are keys.",
    "LIST -- the names of all commands.",
    "HELP -- this text.",
];
