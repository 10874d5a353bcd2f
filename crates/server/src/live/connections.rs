//! A row for each process with a connection, or on one.

use live::Row;
use runtime::mailbox::Endpoint;
use runtime::service::Seen;

use crate::conn::Process;

/// The row of a process.
pub(crate) fn row_of(here: Endpoint, seen: &Seen<'_, Process>) -> Row {
    let used = seen.used;
    let us = used.ticks / sys::clock::ticks_per_microsecond();
    let peer = seen.process.client().map_or_else(|| "-".to_owned(), |address| address.to_string());
    let row = Row::new(format!("c-{}-{}", here.0, seen.id.to_bits()))
        .text("peer", peer)
        .text("kind", seen.process.kind_name())
        .text("state", seen.state)
        .number("scheduler", u64::from(here.0))
        .number("idle_ms", seen.idle_ms)
        .number("received_bytes", used.received_bytes)
        .number("sent_bytes", used.sent_bytes)
        .number("cpu_us", us)
        .number("queued_bytes", seen.queued_bytes as u64)
        .number("unread_bytes", seen.unread_bytes as u64)
        .text("encrypted", if seen.is_layered { "yes" } else { "no" });
    match seen.process.requests() {
        Some(requests) => row.number("requests", u64::from(requests)),
        None => row,
    }
}
