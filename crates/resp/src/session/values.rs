//! Commands that read values from the map: `GET`, `GETRANGE`, `MGET`, `EXISTS`, `TOUCH`.
//!
//! Owns that a value is copied at most once on its way to the client, and a large value not at all; and that commands
//! with many keys delay no other client: they use the time of a turn, and go on in the next one with the same snapshot.
//! In a transaction the same command is a step, whose outcome [`Shape`] writes in the same form.

use local::ValueBytes;
use runtime::output::Output;
use runtime::trace;
use store::{Query, StoreFailure};
use wire::resp::{
    RespVersion, write_array, write_bulk, write_bulk_head, write_integer, write_null,
};

use super::reply::{Shape, write_failure};
use super::requested::{Words, ask};
use super::{After, Call, transaction};
use crate::exclusive::Kept;
use crate::gathering::Gathering;
use crate::limits::{BYTES_PER_STEP, REPLY_SIZE, STEPS_PER_KEY};
use crate::stats::{Counter, RespCounts};
use crate::traced;

/// The form of `GETRANGE key first last`.
pub(super) fn range(words: &Words<'_>) -> Result<Shape, String> {
    Ok(Shape::Range(words.number(2)?, words.number(3)?))
}

pub(super) fn run(
    call: &mut Call<'_, '_>,
    shape: fn(&Words<'_>) -> Result<Shape, String>,
) -> After {
    let shape = shape(&call.words());
    if call.session.pending.is_in_transaction() {
        let request = shape.and_then(|shape| ask(Query::Get(call.word(1).into()), shape));
        return transaction::queue(call, request);
    }
    let shape = match shape {
        Ok(shape) => shape,
        Err(text) => return call.say_error(&text),
    };
    if !call.session.pending.answers_now() {
        return After::Wait;
    }
    call.trace_command();
    let (session, output) = (&*call.session, &mut *call.output);
    let Some(store) = &call.env.store else { return After::More };
    let snapshot = store.snapshot();
    let snapshot = snapshot.as_deref().map_err(StoreFailure::clone);
    let place = (session.database, call.command.argument(1));
    let value = snapshot.and_then(|snapshot| store.give(snapshot, place, call.now));
    count(&call.env.clients.counts, &value);
    match value {
        Ok(value) => write(shape.of_value(value), session.version, output),
        Err(failure) => write_failure(output.buffer(), &failure),
    }
    if trace::is_noting() {
        traced::reply(session.process);
    }
    After::More
}

/// Counts the lookup of a key.
fn count(counts: &RespCounts, value: &Result<Option<ValueBytes<'_>>, StoreFailure>) {
    if let Ok(value) = value {
        counts.count(if value.is_some() { Counter::Hits } else { Counter::Misses });
    }
}

#[inline]
fn write(value: Option<ValueBytes<'_>>, version: RespVersion, output: &mut Output) {
    match value {
        None => write_null(output.buffer(), version),
        Some(ValueBytes::Copied(bytes)) => write_bulk(output.buffer(), bytes),
        Some(ValueBytes::Lent(shared)) => {
            write_bulk_head(output.buffer(), shared.end - shared.start);
            output.put_shared(shared);
            output.put(b"\r\n");
        }
    }
}

/// The use that a command makes of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Wanted {
    /// Their values.
    Values,
    /// How many exist.
    Number,
}

/// Runs a command whose words from the second on are keys.
pub(super) fn run_many(call: &mut Call<'_, '_>, wanted: Wanted) -> After {
    if call.session.pending.is_in_transaction() {
        let keys = call.words().keys();
        let request = match wanted {
            Wanted::Values => ask(Query::GetMany(keys), Shape::Bulks),
            Wanted::Number => ask(Query::Exists(keys), Shape::Number),
        };
        return transaction::queue(call, request);
    }
    if !call.session.pending.answers_now() {
        return After::Wait;
    }
    let gathered = gather(call, wanted);
    let Call { session, command, env, output, .. } = call;
    let clients = &mut *env.clients;
    let held = match &gathered {
        Ok(gathering) if gathering.next == command.len() => clients.held.hold(gathering.copied),
        _ => Ok(0),
    };
    match gathered.and_then(|gathering| Ok((gathering, held?))) {
        Err(failure) => write_failure(output.buffer(), &failure),
        Ok((gathering, _)) if gathering.next < command.len() => {
            if clients.gatherings.keep(session.process, gathering) == Kept::Yes {
                clients.rest(session.process);
            }
            return After::Wait;
        }
        Ok((gathering, held)) if wanted == Wanted::Values => {
            clients.held.let_go(session.pending.hold(held));
            write_array(output.buffer(), command.len() - 1);
            gathering.write(output);
        }
        Ok((gathering, _)) => {
            let found = i64::try_from(gathering.found).unwrap_or(i64::MAX);
            write_integer(output.buffer(), found);
        }
    }
    if trace::is_noting() {
        traced::reply(session.process);
    }
    After::More
}

/// Looks up keys until there are no more, or the time of the turn is used up.
fn gather(call: &mut Call<'_, '_>, wanted: Wanted) -> Result<Gathering, StoreFailure> {
    let begun = call.env.clients.gatherings.take(call.session.process);
    if begun.is_none() {
        call.trace_command();
    }
    let (session, clients, now) = (&*call.session, &mut *call.env.clients, call.now);
    let store = call.env.store.as_ref().expect("commands of the store are refused without one");
    let mut gathering = match begun {
        Some(gathering) => gathering,
        None => Gathering::new(store.turn_store().hold()?),
    };
    let mut steps = 0;
    while gathering.next < call.command.len() {
        if clients.pace.is_over_after(&mut steps) {
            break;
        }
        let place = (session.database, call.command.argument(gathering.next));
        gathering.next += 1;
        steps += STEPS_PER_KEY;
        if wanted == Wanted::Number {
            let found = gathering.held.snapshot().get(place.0, place.1, now.unix_ms())?;
            gathering.found += usize::from(found.is_some());
            continue;
        }
        let held = gathering.held.clone();
        let value = store.give_held(&held, place, now);
        count(&clients.counts, &value);
        let value = value?;
        if value.is_some() && gathering.copied > REPLY_SIZE {
            return Err(StoreFailure::TooMuch);
        }
        let copied = value.as_ref().map_or(0, |value| value.copied());
        gathering.copied += copied;
        steps += copied / BYTES_PER_STEP;
        gathering.add(value, session.version);
    }
    Ok(gathering)
}
