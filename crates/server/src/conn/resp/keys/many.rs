//! Commands that read many keys: `MGET`, `EXISTS`, `TOUCH`.
//!
//! Owns that they delay no other client: they use the time of a turn, and go on in the next one with the same snapshot.

use runtime::service::Context;
use store::Failure;
use wire::resp::{Command, write_array, write_integer};

use super::known::Verb;
use super::{After, Session, values, write_failure};
use crate::limits::{RESP_BYTES_PER_STEP, RESP_REPLY_SIZE, RESP_STEPS_PER_KEY};
use crate::message::Message;
use crate::site::{Gathering, Kept, Site};

/// Runs a command whose words from the second on are keys.
pub(super) fn run(
    session: &mut Session,
    (command, verb): (&Command<'_>, Verb),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let Some(store) = &mut site.store else { return After::More };
    let begun = match store.gatherings.take(session.process) {
        Some(gathering) => Ok(gathering),
        None => store.turn_store().hold().map(Gathering::new),
    };
    let gathered = begun.and_then(|mut gathering| {
        gather(session, (command, verb), &mut gathering, site, context).map(|()| gathering)
    });
    let Some(store) = &mut site.store else { return After::More };
    let held = match &gathered {
        Ok(gathering) if gathering.next == command.len() => store.held.hold(gathering.copied),
        _ => Ok(0),
    };
    let out = context.output.buffer();
    match gathered.and_then(|gathering| Ok((gathering, held?))) {
        Err(failure) => write_failure(out, &failure),
        Ok((gathering, _)) if gathering.next < command.len() => {
            if store.gatherings.keep(session.process, gathering) == Kept::Yes {
                site.rest(session.process);
            }
            return After::Wait;
        }
        Ok((gathering, held)) if verb == Verb::MGet => {
            store.held.let_go(session.keys.hold(held));
            write_array(out, command.len() - 1);
            gathering.write(context.output);
        }
        Ok((gathering, _)) => {
            write_integer(out, i64::try_from(gathering.found).unwrap_or(i64::MAX));
        }
    }
    After::More
}

/// Looks up keys until there are no more, or the time of the turn is used up.
fn gather(
    session: &Session,
    (command, verb): (&Command<'_>, Verb),
    gathering: &mut Gathering,
    site: &mut Site,
    context: &Context<'_, Message>,
) -> Result<(), Failure> {
    let mut steps = 0;
    while gathering.next < command.len() {
        if site.resp_pace.is_over_after(&mut steps) {
            return Ok(());
        }
        let (database, key) = (session.database, command.argument(gathering.next));
        gathering.next += 1;
        steps += RESP_STEPS_PER_KEY;
        let Some(store) = &site.store else { return Ok(()) };
        if verb != Verb::MGet {
            let found = gathering.held.snapshot().get(database, key, context.now.unix_ms())?;
            gathering.found += usize::from(found.is_some());
            continue;
        }
        let held = gathering.held.clone();
        let given = store.give_held(&held, (database, key), context.now);
        values::count(site, &given);
        let given = given?;
        if given.is_some() && gathering.copied > RESP_REPLY_SIZE {
            return Err(Failure::TooMuch);
        }
        let copied = given.as_ref().map_or(0, |given| given.copied());
        gathering.copied += copied;
        steps += copied / RESP_BYTES_PER_STEP;
        gathering.add(given, session.version);
    }
    Ok(())
}
