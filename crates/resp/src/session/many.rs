//! Commands that read many keys: `MGET`, `EXISTS`, `TOUCH`.
//!
//! Owns that they delay no other client: they use the time of a turn, and go on in the next one with the same snapshot.

use store::{Failure, Query};
use wire::resp::{write_array, write_integer};

use super::reply::{Shape, write_failure};
use super::requested::ask;
use super::{After, Call, transaction, values};
use crate::gathering::{Gathering, Kept};
use crate::limits::{BYTES_PER_STEP, REPLY_SIZE, STEPS_PER_KEY};

/// What a command wants of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Wanted {
    /// Their values.
    Values,
    /// How many exist.
    Number,
}

/// Runs a command whose words from the second on are keys.
pub(super) fn run(call: &mut Call<'_, '_>, wanted: Wanted) -> After {
    if call.session.pending.is_in_transaction() {
        let keys = call.words().keys();
        return transaction::queue(
            call,
            match wanted {
                Wanted::Values => ask(Query::GetMany(keys), Shape::Bulks),
                Wanted::Number => ask(Query::Exists(keys), Shape::Number),
            },
        );
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
    After::More
}

/// Looks up keys until there are no more, or the time of the turn is used up.
fn gather(call: &mut Call<'_, '_>, wanted: Wanted) -> Result<Gathering, Failure> {
    let (session, clients, now) = (&*call.session, &mut *call.env.clients, call.now);
    let store = call.env.store.as_ref().expect("commands of the store are refused without one");
    let mut gathering = match clients.gatherings.take(session.process) {
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
        values::count(&clients.counts, &value);
        let value = value?;
        if value.is_some() && gathering.copied > REPLY_SIZE {
            return Err(Failure::TooMuch);
        }
        let copied = value.as_ref().map_or(0, |value| value.copied());
        gathering.copied += copied;
        steps += copied / BYTES_PER_STEP;
        gathering.add(value, session.version);
    }
    Ok(gathering)
}
