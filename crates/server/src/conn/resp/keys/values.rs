//! Replies with values from the map: `GET`, `GETRANGE`.
//!
//! Owns that a value is copied at most once on its way to the client, and a large value not at all.

use runtime::output::Output;
use runtime::service::Context;
use store::Failure;
use wire::resp::{Command, write_bulk, write_bulk_head, write_null};

use super::reply::part;
use super::request::number;
use super::{After, Session, say_error, write_failure};
use crate::message::Message;
use crate::site::{Given, Site};

/// `GET key`.
pub(super) fn get(
    session: &Session,
    command: &Command<'_>,
    site: &Site,
    context: &mut Context<'_, Message>,
) -> After {
    let Some(store) = &site.store else { return After::More };
    let snapshot = store.snapshot();
    let snapshot = snapshot.as_deref().map_err(Failure::clone);
    let place = (session.database, command.argument(1));
    let given = snapshot.and_then(|snapshot| store.give(snapshot, place, context.now));
    count(site, &given);
    match given {
        Ok(Some(given)) => write(given, context.output),
        Ok(None) => write_null(context.output.buffer(), session.version),
        Err(failure) => write_failure(context.output.buffer(), &failure),
    }
    After::More
}

/// `GETRANGE key first last`.
pub(super) fn get_range(
    session: &mut Session,
    command: &Command<'_>,
    site: &Site,
    context: &mut Context<'_, Message>,
) -> After {
    let Some(store) = &site.store else { return After::More };
    let (first, last) = match (number(command.argument(2)), number(command.argument(3))) {
        (Ok(first), Ok(last)) => (first, last),
        (Err(problem), _) | (_, Err(problem)) => return say_error(session, context, &problem),
    };
    let snapshot = store.snapshot();
    let snapshot = snapshot.as_deref().map_err(Failure::clone);
    let place = (session.database, command.argument(1));
    let given = snapshot.and_then(|snapshot| store.give(snapshot, place, context.now));
    count(site, &given);
    match given.map(|given| given.unwrap_or(Given::Copied(b""))) {
        Ok(given) => {
            let range = part(given.length(), first, last);
            write(given.part(range), context.output);
        }
        Err(failure) => write_failure(context.output.buffer(), &failure),
    }
    After::More
}

/// Counts the lookup of a key.
pub(super) fn count(site: &Site, given: &Result<Option<Given<'_>>, Failure>) {
    if let Ok(given) = given {
        site.resp.count_look_up(given.as_ref());
    }
}

fn write(given: Given<'_>, output: &mut Output) {
    match given {
        Given::Copied(bytes) => write_bulk(output.buffer(), bytes),
        Given::Lent(shared) => {
            write_bulk_head(output.buffer(), shared.end - shared.start);
            output.put_shared(shared);
            output.put(b"\r\n");
        }
    }
}
