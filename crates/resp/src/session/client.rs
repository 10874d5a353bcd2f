//! `CLIENT`: mostly what client libraries send when they connect.
//!
//! Owns what a client says about itself, and whether it wants replies. Knows its own connection only: the
//! connections of a server belong to several schedulers.

use std::net::SocketAddr;

use wire::resp::{
    RespCommand, RespVersion, write_array, write_bulk, write_error, write_integer, write_null,
    write_simple,
};

use super::reply::shown;
use super::{After, Call, Session, transaction};
use crate::limits::CLIENT_NAME_SIZE;

/// The name and the library that a client gives itself.
#[derive(Debug, Default)]
pub(super) struct About {
    name: Box<[u8]>,
    library: Box<[u8]>,
    library_version: Box<[u8]>,
}

/// Whether a client gets replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReplyMode {
    /// To all commands.
    #[default]
    On,
    /// To all but the next command.
    SkipNext,
    /// To none.
    Off,
}

/// Why a text cannot be the name of a client.
pub(super) const BAD_NAME: &str =
    "ERR Client names cannot contain spaces, newlines or special characters.";

/// Whether a text may be the name of a client.
pub(super) fn is_name(name: &[u8]) -> bool {
    name.len() <= CLIENT_NAME_SIZE && name.iter().all(u8::is_ascii_graphic)
}

impl Session {
    pub(super) fn set_name(&mut self, name: &[u8]) {
        self.about.get_or_insert_default().name = name.into();
    }

    fn name(&self) -> &[u8] {
        self.about.as_ref().map_or(&[], |about| &about.name)
    }
}

/// Whether the command ends its connection.
fn ends(command: &RespCommand<'_>) -> bool {
    command.len() > 1 && command.argument(1).eq_ignore_ascii_case(b"kill")
}

/// Whether a command is `CLIENT REPLY`, which decides itself whether it is answered.
pub(super) fn is_about_replies(command: &RespCommand<'_>) -> bool {
    command.argument(0).eq_ignore_ascii_case(b"client")
        && command.argument(1).eq_ignore_ascii_case(b"reply")
}

/// `CLIENT subcommand …`.
pub(super) fn run(call: &mut Call<'_, '_>) -> After {
    let command = call.command;
    if call.session.pending.is_in_transaction() {
        // Neither can take effect in the middle of the replies to a transaction.
        let is_refused = is_about_replies(command) || ends(command);
        return if is_refused {
            transaction::refuse(call)
        } else {
            transaction::queue_command(call)
        };
    }
    let (session, out) = (&mut *call.session, call.output.buffer());
    let verb = command.argument(1).to_ascii_lowercase();
    let option = command.argument(2).to_ascii_lowercase();
    match (&*verb, command.len()) {
        (b"setname", 3) if is_name(command.argument(2)) => {
            session.set_name(command.argument(2));
            write_simple(out, "OK");
        }
        (b"setname", 3) => write_error(out, BAD_NAME),
        (b"setinfo", 4) => set_info(session, &option, command.argument(3), out),
        (b"getname", 2) if session.name().is_empty() => write_null(out, session.version),
        (b"getname", 2) => write_bulk(out, session.name()),
        (b"id", 2) => write_integer(out, i64::try_from(session.number).unwrap_or(i64::MAX)),
        (b"info", 2) => write_bulk(out, info(session).as_bytes()),
        // The only connection that this one knows is itself.
        (b"list", _) => write_bulk(out, info(session).as_bytes()),
        (b"kill", 3..) => return kill(session, command, out),
        (b"reply", 3) => reply(session, &option, out),
        (b"no-evict" | b"no-touch", 3) if matches!(&*option, b"on" | b"off") => {
            write_simple(out, "OK");
        }
        (b"tracking", 3..) if *option == *b"off" => write_simple(out, "OK"),
        (b"tracking", 3..) => write_error(out, "ERR CLIENT TRACKING is not supported"),
        (b"getredir", 2) => write_integer(out, -1),
        (b"unblock", 3..=4) => write_integer(out, 0),
        (b"help", 2) => {
            write_array(out, HELP.len());
            HELP.iter().for_each(|line| write_simple(out, line));
        }
        _ => {
            let shown = shown(&verb);
            let text = format!(
                "ERR unknown subcommand or wrong number of arguments for '{shown}'. Try CLIENT HELP."
            );
            write_error(out, &text);
        }
    }
    After::More
}

/// `CLIENT SETINFO lib-name|lib-ver value`.
fn set_info(session: &mut Session, attribute: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let about = session.about.get_or_insert_default();
    let kept = match attribute {
        b"lib-name" => &mut about.library,
        b"lib-ver" => &mut about.library_version,
        _ => {
            return write_error(out, &format!("ERR Unrecognized option '{}'", shown(attribute)));
        }
    };
    if !is_name(value) {
        let attribute = shown(attribute);
        let text =
            format!("ERR {attribute} cannot contain spaces, newlines or special characters.");
        return write_error(out, &text);
    }
    *kept = value.into();
    write_simple(out, "OK");
}

/// `CLIENT REPLY ON|OFF|SKIP`: only `ON` is answered.
fn reply(session: &mut Session, wanted: &[u8], out: &mut Vec<u8>) {
    match wanted {
        b"on" => {
            session.reply_mode = ReplyMode::On;
            write_simple(out, "OK");
        }
        b"off" => session.reply_mode = ReplyMode::Off,
        b"skip" if session.reply_mode == ReplyMode::On => session.reply_mode = ReplyMode::SkipNext,
        b"skip" => {}
        _ => write_error(out, "ERR syntax error"),
    }
}

/// `CLIENT KILL address`, or with filters. Ends this connection alone, if the filters name it.
fn kill(session: &Session, command: &RespCommand<'_>, out: &mut Vec<u8>) -> After {
    let address = address(session);
    if command.len() == 3 {
        if command.argument(2) != address.as_bytes() {
            write_error(out, "ERR No such client");
            return After::More;
        }
        write_simple(out, "OK");
        return After::End;
    }
    let (mut is_it, mut skips_itself) = (true, true);
    for at in (2..command.len()).step_by(2) {
        let value = command.argument(at + 1);
        match &*command.argument(at).to_ascii_lowercase() {
            _ if at + 1 == command.len() => {
                write_error(out, "ERR syntax error");
                return After::More;
            }
            b"id" => is_it &= value == session.number.to_string().as_bytes(),
            b"addr" => is_it &= value == address.as_bytes(),
            b"user" => is_it &= value == b"default",
            b"type" => is_it &= value.eq_ignore_ascii_case(kind(session).as_bytes()),
            b"laddr" | b"maxage" => is_it = false,
            b"skipme" => skips_itself = !value.eq_ignore_ascii_case(b"no"),
            _ => {
                write_error(out, "ERR syntax error");
                return After::More;
            }
        }
    }
    let ends = is_it && !skips_itself;
    write_integer(out, i64::from(ends));
    if ends { After::End } else { After::More }
}

fn kind(session: &Session) -> &'static str {
    if session.subscriptions() > 0 { "pubsub" } else { "normal" }
}

fn address(session: &Session) -> String {
    let peer = session.arrival.peer;
    SocketAddr::new(peer.address, peer.port).to_string()
}

/// The fields of Redis' `CLIENT INFO` that are known here.
fn info(session: &Session) -> String {
    let channels = session.listening.channels().len();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (library, version) = match &session.about {
        Some(about) => (text(&about.library), text(&about.library_version)),
        None => Default::default(),
    };
    format!(
        "id={} addr={} name={} flags={} db={} sub={channels} psub={} multi=-1 user=default \
         lib-name={library} lib-ver={version} resp={}\n",
        session.number,
        address(session),
        text(session.name()),
        if session.subscriptions() > 0 { "P" } else { "N" },
        session.database.0,
        session.subscriptions() - channels,
        if session.version == RespVersion::Three { 3 } else { 2 },
    )
}

const HELP: [&str; 11] = [
    "CLIENT <subcommand> [<arg> ...]. Subcommands are:",
    "GETNAME, SETNAME <name> -- the name of this connection.",
    "HELP -- this text.",
    "ID -- the number of this connection.",
    "INFO, LIST -- information about this connection.",
    "KILL <address>|<filters> -- ends this connection, if they name it.",
    "NO-EVICT, NO-TOUCH <on|off>, TRACKING OFF, UNBLOCK <id> -- accepted, without effect.",
    "REPLY <on|off|skip> -- whether commands are answered.",
    "SETINFO <lib-name|lib-ver> <value> -- what INFO shows of the client library.",
    "GETREDIR -- -1.",
    "Other subcommands of Redis are not supported.",
];
