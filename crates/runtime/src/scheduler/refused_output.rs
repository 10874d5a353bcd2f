//! A peer that takes no more output, although it may have said why: a server that refuses a request whose body is still
//! being sent, and closes.
//!
//! Owns that what it has sent before is received. Never sends.

use sys::pollset::Pollset;

use super::executor::{Executor, Lives, ProcessOf};
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Executor<P, S> {
    /// The output of a process cannot be sent. A connection to a server goes on until all that came of it is received;
    /// that of a client is over, because nobody would get an answer to what else it has sent.
    #[cold]
    pub(super) fn on_refused_output(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
    ) -> Lives {
        if process.mode != Mode::Reading || !process.flags.has(Flags::REACHED) {
            return Err(CloseReason::Failed);
        }
        if let Some(outbox) = process.outbox.take() {
            self.stats.count_buffered(outbox.queued_bytes(), 0);
            self.spare_outboxes.give_back(outbox);
        }
        process.flags.set(Flags::REFUSED);
        process.flags.set(Flags::READABLE);
        self.queue(id, process);
        Ok(())
    }

    /// The input of a process has ended. After refused output that is no orderly end: a reset shows only once, and the
    /// send has seen it.
    pub(super) fn on_input_end(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        process.flags.take(Flags::READABLE);
        if process.flags.has(Flags::REFUSED) {
            return Err(CloseReason::Failed);
        }
        self.tell(id, process, Event::InputEnded)
    }
}
