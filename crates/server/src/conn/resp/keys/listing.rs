//! `KEYS pattern`: lists the matching keys.
//!
//! Owns that it delays no other client: each turn reads one page of keys. Unlike in Redis, which blocks meanwhile, the list is not
//! a snapshot.

use runtime::service::Context;
use store::{Outcome, PageOf, Query};
use wire::resp::{Command, write_array, write_bulk, write_error};

use super::{After, Session, transaction, write_failure};
use crate::limits::RESP_LISTING_SIZE;
use crate::message::Message;
use crate::site::Site;

pub(super) fn run(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if session.keys.is_in_transaction() {
        return transaction::refuse(session, command, context);
    }
    if !session.keys.has_answered() {
        return After::Wait;
    }
    let Some(store) = &mut site.store else { return After::More };
    let Some(mut listing) = store.take_listing(session.process) else { return After::Wait };
    let query =
        Query::Page(PageOf { after: listing.after.take(), keys: usize::MAX, ..PageOf::default() });
    let now_ms = context.now.unix_ms();
    let outcome =
        store.snapshot().and_then(|snapshot| snapshot.answer(session.database, &query, now_ms));
    let out = context.output.buffer();
    match outcome {
        Ok(Outcome::Page(page)) => {
            let pattern = command.argument(1);
            for (key, _) in page.keys.iter().filter(|(key, _)| channels::fits_glob(pattern, key)) {
                write_bulk(&mut listing.keys, key);
                listing.count += 1;
            }
            if listing.keys.len() > RESP_LISTING_SIZE {
                write_error(out, "ERR too many keys for one reply; use SCAN");
            } else if page.next.is_some() {
                listing.after = page.next;
                store.keep_listing(session.process, listing);
                return After::Wait;
            } else {
                match store.held.hold(listing.keys.len()) {
                    Ok(held) => {
                        session.keys.hold(held);
                        write_array(out, listing.count);
                        out.extend_from_slice(&listing.keys);
                    }
                    Err(failure) => write_failure(out, &failure),
                }
            }
        }
        Ok(outcome) => write_error(out, &format!("ERR {outcome:?} is no page")),
        Err(failure) => write_failure(out, &failure),
    }
    store.end_listing();
    After::More
}
