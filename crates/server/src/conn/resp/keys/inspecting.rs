//! `OBJECT`, `MEMORY USAGE` and `RANDOMKEY`: what tools ask about keys.
//!
//! Owns their replies. Never changes anything.

use std::ops::ControlFlow;

use runtime::service::Context;
use store::limits::RECORD_SIZE;
use store::{Failure, Snapshot};
use wire::resp::{Command, write_bulk, write_error, write_integer, write_null};

use super::known::Verb;
use super::request::number;
use super::{After, Session, transaction, write_failure};
use crate::limits::RESP_RANDOM_KEYS;
use crate::message::Message;
use crate::site::Site;

/// Longest string that Redis keeps within its object.
const EMBEDDED_SIZE: usize = 44;

pub(super) fn run(
    session: &mut Session,
    (command, verb): (&Command<'_>, Verb),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if session.keys.is_in_transaction() {
        return transaction::queue_command(session, command, context);
    }
    if !session.keys.has_answered() {
        return After::Wait;
    }
    let Some(store) = &site.store else { return After::More };
    let snapshot = store.snapshot();
    let snapshot = snapshot.as_deref().map_err(Failure::clone);
    let answered = snapshot.and_then(|snapshot| match verb {
        Verb::RandomKey => random_key(session, snapshot, context),
        _ => about_key(session, (command, verb), snapshot, context),
    });
    if let Err(failure) = answered {
        write_failure(context.output.buffer(), &failure);
    }
    After::More
}

/// `OBJECT ENCODING|REFCOUNT|IDLETIME|FREQ key`, `MEMORY USAGE key [SAMPLES count]`.
fn about_key(
    session: &Session,
    (command, verb): (&Command<'_>, Verb),
    snapshot: &Snapshot,
    context: &mut Context<'_, Message>,
) -> Result<(), Failure> {
    let (key, now_ms) = (command.argument(2), context.now.unix_ms());
    let out = context.output.buffer();
    let about = command.argument(1).to_ascii_lowercase();
    let is_known = match (verb, &*about, command.len()) {
        (Verb::Memory, b"usage", 3) => true,
        (Verb::Memory, b"usage", 5) => command.argument(3).eq_ignore_ascii_case(b"samples"),
        (Verb::Object, b"encoding" | b"refcount" | b"idletime" | b"freq", 3) => true,
        _ => false,
    };
    if !is_known {
        let text = "ERR unknown subcommand or wrong number of arguments; here are MEMORY USAGE and OBJECT ENCODING, REFCOUNT, IDLETIME";
        write_error(out, text);
        return Ok(());
    }
    let Some(record) = snapshot.get(session.database, key, now_ms)? else {
        write_null(out, session.version);
        return Ok(());
    };
    match &*about {
        b"usage" => {
            let size = RECORD_SIZE + key.len() + record.bytes.len();
            write_integer(out, i64::try_from(size).unwrap_or(i64::MAX));
        }
        b"encoding" if number(record.bytes).is_ok() => write_bulk(out, b"int"),
        b"encoding" if record.bytes.len() <= EMBEDDED_SIZE => write_bulk(out, b"embstr"),
        b"encoding" => write_bulk(out, b"raw"),
        b"refcount" => write_integer(out, 1),
        b"idletime" => write_integer(out, 0),
        _ => write_error(
            out,
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked.",
        ),
    }
    Ok(())
}

/// `RANDOMKEY`: the first key behind a random place. Keys behind a gap are returned more often than others.
fn random_key(
    session: &Session,
    snapshot: &Snapshot,
    context: &mut Context<'_, Message>,
) -> Result<(), Failure> {
    let now_ms = context.now.unix_ms();
    let (first, last) = snapshot.ends(session.database)?.unwrap_or_default();
    // A random place between the two ends: after what they have in common, any bytes.
    let common = first.iter().zip(&last).take_while(|(one, other)| one == other).count();
    let mut place = last[..common].to_vec();
    place.extend(context.now.monotonic_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    let (low, high) = (first.get(common).copied(), last.get(common).copied());
    if let (Some(low), Some(high)) = (low, high) {
        place[common] = low + place[common] % (high - low).saturating_add(1);
    }
    let mut found = None;
    for from in [&place[..], b""] {
        let mut visited = 0;
        snapshot.visit(session.database, from, now_ms, |key| {
            visited += 1;
            if !key.is_expired {
                found = Some(key.key.to_vec());
            }
            if found.is_some() || visited >= RESP_RANDOM_KEYS {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        if found.is_some() {
            break;
        }
    }
    let out = context.output.buffer();
    match found {
        Some(key) => write_bulk(out, &key),
        None => write_null(out, session.version),
    }
    Ok(())
}
