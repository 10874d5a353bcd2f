//! A row for each page that is suspended, and each process that a page spawned.

use live::Row;
use pages::Suspended;
use runtime::mailbox::Endpoint;

/// The row of a suspended run.
pub(crate) fn row_of(here: Endpoint, run: &Suspended) -> Row {
    Row::new(format!("p-{}-{}", here.0, run.id))
        .text("page", &*run.page)
        .text("kind", run.kind)
        .text("state", run.state)
        .text("waits_for", &*run.waits_for)
        .text("name", &*run.name)
        .number("scheduler", u64::from(here.0))
        .number("messages", run.messages)
        .number("mailbox_bytes", run.mailbox_bytes)
        .number("memory_bytes", run.memory_bytes)
}
