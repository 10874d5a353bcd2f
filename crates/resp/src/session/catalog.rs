//! The replies of `COMMAND`.
//!
//! Owns the format of replies. The rows of the table say the rest.

use wire::resp::{
    RespCommand, RespVersion, write_array, write_bulk, write_error, write_integer, write_map,
    write_null_array, write_simple,
};

use super::reply::shown;
use super::{After, Call, Row};
use crate::limits::COMMAND_NAMES;

/// `COMMAND`, and its subcommands `COUNT`, `LIST`, `INFO`, `DOCS` and `GETKEYS`.
pub(super) fn run(call: &mut Call<'_, '_>, rows: &[Row]) -> After {
    let (command, version, out) = (call.command, call.session.version, call.output.buffer());
    if command.len() > COMMAND_NAMES {
        write_error(out, &format!("ERR COMMAND takes at most {COMMAND_NAMES} words"));
        return After::More;
    }
    let verb = command.argument(1).to_ascii_lowercase();
    let named = || command.arguments_from(2).map(|name| find(rows, name));
    match (&*verb, command.len()) {
        (_, 1) | (b"info", 2) => {
            write_array(out, rows.len());
            rows.iter().for_each(|row| row.write(out));
        }
        (b"count", 2) => write_integer(out, i64::try_from(rows.len()).unwrap_or(i64::MAX)),
        (b"list", 2) => {
            write_array(out, rows.len());
            rows.iter().for_each(|row| write_bulk(out, row.name().as_bytes()));
        }
        (b"info", _) => {
            write_array(out, command.len() - 2);
            for row in named() {
                match row {
                    Some(row) => row.write(out),
                    None => write_null_array(out, version),
                }
            }
        }
        (b"docs", 2) => write_docs(&rows.iter().collect::<Vec<_>>(), version, out),
        (b"docs", _) => write_docs(&named().flatten().collect::<Vec<_>>(), version, out),
        (b"getkeys", 3..) => write_keys(command, find(rows, command.argument(2)), out),
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
    After::More
}

fn find<'r>(rows: &'r [Row], name: &[u8]) -> Option<&'r Row> {
    rows.iter().find(|row| name.eq_ignore_ascii_case(row.name().as_bytes()))
}

fn write_docs(rows: &[&Row], version: RespVersion, out: &mut Vec<u8>) {
    write_map(out, rows.len(), version);
    for row in rows {
        write_bulk(out, row.name().as_bytes());
        write_map(out, 1, version);
        write_bulk(out, b"summary");
        write_bulk(out, row.summary().as_bytes());
    }
}

/// `COMMAND GETKEYS name word ...`.
fn write_keys(command: &RespCommand<'_>, row: Option<&Row>, out: &mut Vec<u8>) {
    let Some(row) = row else { return write_error(out, "ERR Invalid command specified") };
    let count = command.len() - 2;
    if !row.words().contains(&count) {
        let text = "ERR Invalid number of arguments specified for command";
        return write_error(out, text);
    }
    let keys = row.keys();
    let (Ok(first), Ok(step)) = (usize::try_from(keys.first()), usize::try_from(keys.step()))
    else {
        return;
    };
    if first == 0 {
        return write_error(out, "ERR The command has no key arguments");
    }
    let last = usize::try_from(keys.last()).unwrap_or(count - 1).min(count - 1);
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
