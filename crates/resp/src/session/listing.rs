//! `KEYS pattern`: lists the matching keys.
//!
//! Owns that it delays no other client: it uses the time of a turn, and goes on in the next one. Unlike in Redis, which
//! blocks meanwhile, the list is not a snapshot.

use std::ops::ControlFlow;

use channels::{ChannelMatcher, check_pattern};
use wire::resp::{write_array, write_bulk, write_error};

use super::reply::write_failure;
use super::{After, Call};
use crate::limits::{LISTING_SIZE, STEPS_PER_KEY};

pub(super) fn run(call: &mut Call<'_, '_>) -> After {
    let pattern = match check_pattern(call.word(1)) {
        Ok(pattern) => ChannelMatcher::new(pattern),
        Err(problem) => return call.say_error(&format!("ERR {problem}")),
    };
    let Call { session, env, output, now, .. } = call;
    let clients = &mut *env.clients;
    let Some(store) = &env.store else { return After::More };
    if !clients.searches.is_free_for(session.process) {
        return After::Wait;
    }
    let mut listing = clients.searches.take(session.process).unwrap_or_default();
    let from = listing.from.take().unwrap_or_else(|| pattern.prefix().to_vec());
    let mut steps = 0;
    let looked = store.snapshot().and_then(|snapshot| {
        snapshot.visit(session.database, &from, now.unix_ms(), |found| {
            let key = found.key;
            if !key.starts_with(pattern.prefix()) || listing.keys.len() > LISTING_SIZE {
                return ControlFlow::Break(());
            }
            if clients.pace.is_over_after(&mut steps) {
                listing.from = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            steps += STEPS_PER_KEY;
            if !found.is_expired && pattern.accepts(key, &mut steps) {
                write_bulk(&mut listing.keys, key);
                listing.count += 1;
            }
            ControlFlow::Continue(())
        })
    });
    if looked.is_ok() && listing.from.is_some() {
        clients.searches.keep(session.process, listing);
        clients.searches.call(session.process);
        return After::Wait;
    }
    let out = output.buffer();
    let is_too_long = listing.keys.len() > LISTING_SIZE;
    let size = if is_too_long { 0 } else { listing.keys.len() };
    match looked.and_then(|()| clients.held.hold(size)) {
        Ok(_) if is_too_long => write_error(out, "ERR too many keys for one reply; use SCAN"),
        Ok(held) => {
            clients.held.let_go(session.pending.hold(held));
            write_array(out, listing.count);
            out.extend_from_slice(&listing.keys);
        }
        Err(failure) => write_failure(out, &failure),
    }
    After::More
}
