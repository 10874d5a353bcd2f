//! `KEYS pattern`: lists the matching keys.
//!
//! Owns that it delays no other client: it uses the time of a turn, and goes on in the next one. Unlike in Redis, which blocks meanwhile, the list is not
//! a snapshot.

use std::ops::ControlFlow;

use channels::{Matcher, check_pattern};
use runtime::service::Context;
use wire::resp::{Command, write_array, write_bulk, write_error};

use super::{After, Session, say_error, transaction, write_failure};
use crate::limits::{RESP_LISTING_SIZE, RESP_STEPS_PER_KEY};
use crate::message::Message;
use crate::site::Site;

pub(super) fn run(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if session.keys.is_in_transaction() {
        return transaction::queue_command(session, command, context);
    }
    let pattern = match check_pattern(command.argument(1)) {
        Ok(pattern) => Matcher::new(pattern),
        Err(problem) => return say_error(session, context, &format!("ERR {problem}")),
    };
    if !session.keys.has_answered() {
        return After::Wait;
    }
    let (now_ms, pace) = (context.now.unix_ms(), &mut site.resp_pace);
    let Some(store) = &mut site.store else { return After::More };
    let Some(mut listing) = store.take_listing(session.process) else { return After::Wait };
    let from = listing.from.take().unwrap_or_else(|| pattern.prefix().to_vec());
    let mut steps = 0;
    let looked = store.snapshot().and_then(|snapshot| {
        snapshot.visit(session.database, &from, now_ms, |found| {
            let key = found.key;
            if !key.starts_with(pattern.prefix()) || listing.keys.len() > RESP_LISTING_SIZE {
                return ControlFlow::Break(());
            }
            if pace.is_over_after(&mut steps) {
                listing.from = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            steps += RESP_STEPS_PER_KEY;
            if !found.is_expired && pattern.accepts(key, &mut steps) {
                write_bulk(&mut listing.keys, key);
                listing.count += 1;
            }
            ControlFlow::Continue(())
        })
    });
    if looked.is_ok() && listing.from.is_some() {
        store.keep_listing(session.process, listing);
        return After::Wait;
    }
    let out = context.output.buffer();
    let is_too_long = listing.keys.len() > RESP_LISTING_SIZE;
    let size = if is_too_long { 0 } else { listing.keys.len() };
    match looked.and_then(|()| store.held.hold(size)) {
        Ok(_) if is_too_long => write_error(out, "ERR too many keys for one reply; use SCAN"),
        Ok(held) => {
            store.held.let_go(session.keys.hold(held));
            write_array(out, listing.count);
            out.extend_from_slice(&listing.keys);
        }
        Err(failure) => write_failure(out, &failure),
    }
    store.end_listing();
    After::More
}
