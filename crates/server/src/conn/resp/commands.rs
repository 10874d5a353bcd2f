//! The commands of a session; `keys` has those of the store.
//!
//! Owns what they do, and Redis' error texts for invalid calls.

use channels::Shown;
use channels::limits::SUBSCRIPTIONS_PER_CONNECTION;
use runtime::service::Context;
use wire::resp::{
    Command, Version, write_array, write_bulk, write_error, write_integer, write_map, write_simple,
};

use super::wording::{SHOWN_BYTES, shown};
use super::{After, Session, authentication, catalog, client, keys, pubsub};
use crate::message::Message;
use crate::site::Site;

/// Runs one command.
pub(super) fn run(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let only_reads = session.version == Version::Two && session.subscriptions() > 0;
    if let Some(known) = keys::find(command.argument(0))
        && !only_reads
        && !session.must_authenticate()
    {
        return run_known(session, (command, known), site, context);
    }
    if !session.keys.has_answered() {
        return After::Wait;
    }
    let name = String::from_utf8_lossy(command.argument(0)).to_ascii_lowercase();
    if matches!(&*name, "post" | "host:") {
        // A web page made a browser send HTTP to this port. The rest must not be parsed as commands.
        return After::End;
    }
    if only_reads && !is_for_subscribers(&name) {
        let text = format!(
            "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
        );
        write_error(context.output.buffer(), &text);
        return After::More;
    }
    if session.must_authenticate() && !matches!(&*name, "auth" | "hello" | "quit" | "reset") {
        write_error(context.output.buffer(), "NOAUTH Authentication required.");
        return After::More;
    }
    let out = context.output.buffer();
    let Some(range) = catalog::words(&name) else {
        session.keys.spoil();
        unknown(command, out);
        return After::More;
    };
    if !range.contains(&command.len()) {
        session.keys.spoil();
        let text = format!("ERR wrong number of arguments for '{name}' command");
        write_error(out, &text);
        return After::More;
    }
    // Each name is compared with each subscription.
    if command.len() - 1 > SUBSCRIPTIONS_PER_CONNECTION && is_about_subscriptions(&name) {
        session.keys.spoil();
        let text = format!("ERR at most {SUBSCRIPTIONS_PER_CONNECTION} names at once");
        write_error(out, &text);
        return After::More;
    }
    match &*name {
        "quit" | "reset" => {}
        _ if !session.keys.is_in_transaction() => {}
        // Neither can take effect in the middle of the replies to a transaction.
        "client" if client::is_about_replies(command) || client::ends(command) => {
            return keys::refuse(session, command, context);
        }
        "client" | "command" | "echo" | "ping" | "publish" | "pubsub" | "role" | "time" => {
            return keys::queue_command(session, command, context);
        }
        _ => return keys::refuse(session, command, context),
    }
    let begun = site.resp_pace.tick();
    let after = perform(session, (command, &name), site, context);
    if let (Some(number), true) = (catalog::number(&name), after != After::Wait) {
        site.resp_pace.count_time(number, begun);
    }
    after
}

/// Runs a command of the store, which is timed, and its key counted while somebody asks for that.
fn run_known(
    session: &mut Session,
    (command, known): (&Command<'_>, &'static keys::Known),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if let (Some(keys), Ok(first @ 1..)) = (&mut site.hot_keys, usize::try_from(known.entry.keys.0))
    {
        keys.note(session.database, command.argument(first));
    }
    let begun = site.resp_pace.tick();
    let after = keys::run(session, (command, known), site, context);
    if after != After::Wait {
        site.resp_pace.count_time(known.number(), begun);
    }
    after
}

/// Executes a valid command.
fn perform(
    session: &mut Session,
    (command, name): (&Command<'_>, &str),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let out = context.output.buffer();
    match name {
        "ping" => ping(session, command, out),
        "echo" => write_bulk(out, command.argument(1)),
        "hello" => hello(session, command, site, context),
        "auth" => match authentication::show(session, command.arguments_from(1), site, context) {
            Ok(()) => write_simple(context.output.buffer(), "OK"),
            Err(problem) => write_error(context.output.buffer(), problem),
        },
        "client" => return client::run(session, command, out),
        "command" => catalog::run(command, session.version, out),
        "role" => {
            write_array(out, 3);
            write_bulk(out, b"master");
            write_integer(out, 0);
            write_array(out, 0);
        }
        "time" => {
            let (seconds, nanoseconds) = sys::clock::realtime();
            write_array(out, 2);
            write_bulk(out, seconds.to_string().as_bytes());
            write_bulk(out, (nanoseconds / 1_000).to_string().as_bytes());
        }
        "quit" => {
            write_simple(out, "OK");
            return After::End;
        }
        "reset" => {
            session.leave(site);
            session.version = Version::Two;
            session.about = None;
            session.replies = client::Replies::On;
            session.keys = keys::Dialog::default();
            session.database = store::Database(0);
            session.lease.show(Shown::Nothing);
            write_simple(out, "RESET");
        }
        "publish" => return pubsub::publish(session, command, site, context),
        "subscribe" | "psubscribe" => {
            return pubsub::subscribe(session, command, name, site, context);
        }
        "unsubscribe" | "punsubscribe" => pubsub::unsubscribe(session, command, name, site, out),
        _ => return pubsub::about(session, command, site, out),
    }
    After::More
}

fn is_for_subscribers(name: &str) -> bool {
    is_about_subscriptions(name) || matches!(name, "ping" | "quit" | "reset")
}

fn is_about_subscriptions(name: &str) -> bool {
    matches!(name, "subscribe" | "psubscribe" | "unsubscribe" | "punsubscribe")
}

/// Redis' error text, with the first arguments.
fn unknown(command: &Command<'_>, out: &mut Vec<u8>) {
    let mut arguments = String::new();
    for argument in command.arguments_from(1) {
        if arguments.len() >= SHOWN_BYTES {
            break;
        }
        arguments.push_str(&format!("'{}' ", shown(argument)));
    }
    let name = shown(command.argument(0));
    write_error(
        out,
        &format!("ERR unknown command '{name}', with args beginning with: {arguments}"),
    );
}

fn ping(session: &Session, command: &Command<'_>, out: &mut Vec<u8>) {
    let text = command.argument(1);
    if session.version == Version::Two && session.subscriptions() > 0 {
        write_array(out, 2);
        write_bulk(out, b"pong");
        write_bulk(out, text);
    } else if command.len() == 1 {
        write_simple(out, "PONG");
    } else {
        write_bulk(out, text);
    }
}

/// `HELLO [2|3 [AUTH user password] [SETNAME name]]`.
fn hello(
    session: &mut Session,
    command: &Command<'_>,
    site: &Site,
    context: &mut Context<'_, Message>,
) {
    let out = context.output.buffer();
    let version = match command.argument(1) {
        b"" => session.version,
        b"2" => Version::Two,
        b"3" => Version::Three,
        _ => return write_error(out, "NOPROTO unsupported protocol version"),
    };
    let (mut name, mut shown) = (None, None);
    let mut at = 2;
    while at < command.len() {
        let option = command.argument(at).to_ascii_lowercase();
        match (&*option, command.len() - at) {
            (b"auth", 3..) => {
                shown = Some(at + 2);
                at += 3;
            }
            (b"setname", 2..) => {
                name = Some(command.argument(at + 1).to_vec());
                at += 2;
            }
            _ => {
                let option = String::from_utf8_lossy(&option).into_owned();
                return write_error(out, &format!("ERR Syntax error in HELLO option '{option}'"));
            }
        }
    }
    if name.as_ref().is_some_and(|name| !client::is_name(name)) {
        return write_error(out, client::BAD_NAME);
    }
    if let Some(shown) = shown {
        let shown = std::iter::once(command.argument(shown));
        if let Err(problem) = authentication::show(session, shown, site, context) {
            return write_error(context.output.buffer(), problem);
        }
    }
    let out = context.output.buffer();
    if session.must_authenticate() {
        let text = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> \
                    option can be used to authenticate the client and select the RESP protocol version at the same time";
        return write_error(out, text);
    }
    // Only now, because a refused HELLO changes nothing.
    if let Some(name) = name {
        session.set_name(&name);
    }
    session.version = version;
    write_map(out, 7, version);
    write_bulk(out, b"server");
    write_bulk(out, b"velodrome");
    write_bulk(out, b"version");
    write_bulk(out, env!("CARGO_PKG_VERSION").as_bytes());
    write_bulk(out, b"proto");
    write_integer(out, if version == Version::Three { 3 } else { 2 });
    write_bulk(out, b"id");
    write_integer(out, i64::try_from(session.number).unwrap_or(i64::MAX));
    write_bulk(out, b"mode");
    write_bulk(out, b"standalone");
    write_bulk(out, b"role");
    write_bulk(out, b"master");
    write_bulk(out, b"modules");
    write_array(out, 0);
}
