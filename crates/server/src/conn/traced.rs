//! The trace of this scheduler: its beginning and end, and its steps on their way to the control scheduler.

use runtime::trace::{self, Batch};

use crate::message::{ServiceContext, ToControl, TraceOrder};

/// The control scheduler begins or ends a trace.
pub(super) fn obey(order: TraceOrder, context: &mut ServiceContext<'_>) {
    match order {
        TraceOrder::Begin(order) => {
            // If there is no room, the one who asked waits a little longer.
            let first = Box::new(Batch::first(&order));
            let _told = context.mail.send_part(order.to, ToControl::Traced(first));
            trace::begin(order, context.now);
        }
        TraceOrder::Stop(number) => trace::stop(number),
    }
}

/// Sends the steps that are due. Those for which there is no room are counted, and the trace goes on.
#[cold]
pub(super) fn hand_over(context: &mut ServiceContext<'_>) {
    if let Some(batch) = trace::take(context.now) {
        let sent = context.mail.send_part(batch.to, ToControl::Traced(Box::new(batch)));
        if let Err(ToControl::Traced(batch)) = sent {
            trace::lose(&batch);
        }
    }
    if let Some(due_in_ms) = trace::due_in_ms(context.now) {
        context.wake_after_ms(due_in_ms);
    }
}
