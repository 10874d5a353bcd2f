//! `OBJECT`, `MEMORY USAGE` and `RANDOMKEY`: what tools ask about keys.
//!
//! Owns their replies. Never changes anything.

use std::ops::ControlFlow;

use runtime::clock::Now;
use store::limits::RECORD_SIZE;
use store::{Database, Record, Snapshot, StoreFailure};
use wire::resp::{write_bulk, write_error, write_integer, write_null};

use super::reply::write_failure;
use super::requested::number;
use super::{After, Call};
use crate::limits::RANDOM_KEYS;

/// Longest string that Redis keeps within its object.
const EMBEDDED_SIZE: usize = 44;

/// `OBJECT ENCODING | REFCOUNT | IDLETIME | FREQ key`.
pub(super) fn object(call: &mut Call<'_, '_>) -> After {
    let write = match (&*call.word(1).to_ascii_lowercase(), call.command.len()) {
        (b"encoding", 3) => |out: &mut Vec<u8>, record: &Record<'_>, _: usize| {
            let length = record.bytes.len();
            let is_number = number(record.bytes).is_ok();
            let encoding = if length <= EMBEDDED_SIZE { &b"embstr"[..] } else { b"raw" };
            write_bulk(out, if is_number { b"int" } else { encoding });
        },
        (b"refcount", 3) => |out: &mut Vec<u8>, _: &Record<'_>, _: usize| write_integer(out, 1),
        (b"idletime", 3) => |out: &mut Vec<u8>, _: &Record<'_>, _: usize| write_integer(out, 0),
        (b"freq", 3) => |out: &mut Vec<u8>, _: &Record<'_>, _: usize| {
            let text = "ERR An LFU maxmemory policy is not selected, access frequency not tracked.";
            write_error(out, text);
        },
        _ => return refuse(call),
    };
    about_key(call, write)
}

/// `MEMORY USAGE key [SAMPLES count]`.
pub(super) fn memory(call: &mut Call<'_, '_>) -> After {
    let is_known = match call.command.len() {
        3 => true,
        5 => call.word(3).eq_ignore_ascii_case(b"samples"),
        _ => false,
    };
    if !is_known || !call.word(1).eq_ignore_ascii_case(b"usage") {
        return refuse(call);
    }
    about_key(call, |out, record, key_length| {
        let size = RECORD_SIZE + key_length + record.bytes.len();
        write_integer(out, i64::try_from(size).unwrap_or(i64::MAX));
    })
}

fn refuse(call: &mut Call<'_, '_>) -> After {
    let text = "ERR unknown subcommand or wrong number of arguments; here are MEMORY USAGE and OBJECT \
                ENCODING, REFCOUNT, IDLETIME";
    write_error(call.out(), text);
    After::More
}

/// Replies with what is written of the record of the key in the third word; null if it does not exist.
fn about_key(
    call: &mut Call<'_, '_>,
    write: fn(&mut Vec<u8>, &Record<'_>, key_length: usize),
) -> After {
    let (key, now_ms) = (call.word(2), call.now.unix_ms());
    let (session, out) = (&*call.session, call.output.buffer());
    let Some(store) = &call.env.store else { return After::More };
    let written = store.snapshot().and_then(|snapshot| {
        match snapshot.get(session.database, key, now_ms)? {
            Some(record) => write(out, &record, key.len()),
            None => write_null(out, session.version),
        }
        Ok(())
    });
    if let Err(failure) = written {
        write_failure(out, &failure);
    }
    After::More
}

/// `RANDOMKEY`.
pub(super) fn random_key(call: &mut Call<'_, '_>) -> After {
    let (session, out) = (&*call.session, call.output.buffer());
    let Some(store) = &call.env.store else { return After::More };
    let found = store.snapshot();
    match found.and_then(|snapshot| some_key(&snapshot, session.database, call.now)) {
        Ok(Some(key)) => write_bulk(out, &key),
        Ok(None) => write_null(out, session.version),
        Err(failure) => write_failure(out, &failure),
    }
    After::More
}

/// The first key behind a random place. Keys behind a gap are returned more often than others.
fn some_key(
    snapshot: &Snapshot,
    database: Database,
    now: Now,
) -> Result<Option<Vec<u8>>, StoreFailure> {
    let (first, last) = snapshot.ends(database)?.unwrap_or_default();
    // A random place between the two ends: after what they have in common, any bytes.
    let common = first.iter().zip(&last).take_while(|(one, other)| one == other).count();
    let mut place = last[..common].to_vec();
    place.extend(now.monotonic_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    let (low, high) = (first.get(common).copied(), last.get(common).copied());
    if let (Some(low), Some(high)) = (low, high) {
        place[common] = low + place[common] % (high - low).saturating_add(1);
    }
    let mut found = None;
    for from in [&place[..], b""] {
        let mut visited = 0;
        snapshot.visit(database, from, now.unix_ms(), |key| {
            visited += 1;
            if !key.is_expired {
                found = Some(key.key.to_vec());
            }
            if found.is_some() || visited >= RANDOM_KEYS {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        if found.is_some() {
            break;
        }
    }
    Ok(found)
}
