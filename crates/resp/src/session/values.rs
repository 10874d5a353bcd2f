//! Commands that read the value of one key: `GET`, `GETRANGE`.
//!
//! Owns that a value is copied at most once on its way to the client, and a large value not at all. In a transaction
//! the same command is a step, whose outcome [`Shape`] writes in the same form.

use local::ValueBytes;
use runtime::output::Output;
use runtime::trace;
use store::{Failure, Query, Step};
use wire::resp::{Version, write_bulk, write_bulk_head, write_null};

use super::reply::{Shape, write_failure};
use super::requested::{Request, Words};
use super::{After, Call, transaction};
use crate::stats::RespCounts;
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
        let step = |shape| Request { step: Step::Query(Query::Get(call.word(1).into())), shape };
        let request = shape.map(step);
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
    let snapshot = snapshot.as_deref().map_err(Failure::clone);
    let place = (session.database, call.command.argument(1));
    let value = snapshot.and_then(|snapshot| store.give(snapshot, place, call.now));
    count(&call.env.clients.counts, &value);
    match value {
        Ok(value) => write(shape.of_value(value), session.version, output),
        Err(failure) => write_failure(output.buffer(), &failure),
    }
    if trace::is_on() {
        traced::reply(session.process);
    }
    After::More
}

/// Counts the lookup of a key.
pub(super) fn count(counts: &RespCounts, value: &Result<Option<ValueBytes<'_>>, Failure>) {
    if let Ok(value) = value {
        counts.count_look_up(value.as_ref());
    }
}

#[inline]
fn write(value: Option<ValueBytes<'_>>, version: Version, output: &mut Output) {
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
