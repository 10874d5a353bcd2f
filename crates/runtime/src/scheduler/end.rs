//! The end of a process: removed from the timer wheel and the table, counted, closed.
//!
//! Owns the release of everything it holds. Never decides that a process ends.

use sys::pollset::Pollset;

use super::Scheduler;
use super::accept::Gate;
use super::executor::{Executor, Running};
use crate::extras::ExtraIndex;
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Service};
use crate::slots::ProcessId;
use crate::stream::Ending;
use crate::trace;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Ends a process: removes it from the timer wheel and the table, and closes its socket.
    pub(super) fn close(&mut self, id: ProcessId, reason: CloseReason) {
        if self.table.lookup(id).is_none() {
            return;
        }
        self.unlink(id);
        let Some(mut process) = self.table.remove(id) else { return };
        let kind = S::kind(&process.state);
        if process.mode == Mode::Connecting {
            self.executor.stats.connects_failed += 1;
        }
        let buffered = Executor::<P, S>::held_by(&process);
        if buffered > 0 {
            self.executor.stats.count_buffered(buffered, 0);
        }
        if let Some(outbox) = process.outbox.take() {
            self.executor.spare_outboxes.give_back(outbox);
        }
        self.executor.forget_layer(&process);
        self.executor.stats.fast_peers -= u64::from(process.flags.has(Flags::FAST));
        if self.has_paused {
            self.gates.iter_mut().for_each(Gate::note_room);
        }
        self.executor.stats.count_close(kind, reason);
        if trace::is_noting() {
            trace::close(id, reason);
        }
        self.recalled |= self.is_settled;
        self.executor.service.on_close(process.state, reason);
        if let Some(extra) = process.extra {
            self.end_extra(extra, reason);
        }
    }

    /// Tells the carrier of a stream that it has ended; closes the streams of a carrier.
    #[cold]
    fn end_extra(&mut self, extra: ExtraIndex, reason: CloseReason) {
        let ending = if reason == CloseReason::Finished {
            Ending::Finished
        } else {
            Ending::Aborted(reason)
        };
        let streams = self.executor.extras.end(extra, ending);
        let reason = if reason == CloseReason::Stopped { reason } else { CloseReason::Failed };
        for stream in streams {
            self.close(stream, reason);
        }
        self.executor.count_handed();
    }

    /// A handler that panicked may have opened its first stream, and has not given back where its streams are.
    fn find_claimed(&mut self) {
        let Some((carrier, extra)) = self.executor.extras.take_claimed() else { return };
        match self.table.lookup(carrier) {
            Some(process) => process.extra = process.extra.or(Some(extra)),
            // It was not even in the table.
            None => self.end_extra(extra, CloseReason::Panicked),
        }
    }

    /// A handler panicked: its process ends, all others continue.
    pub(super) fn end_panicked(&mut self) {
        self.executor.stats.panics += 1;
        self.executor.output.clear();
        self.find_claimed();
        if let Some(Running { id, lent_bytes, held_bytes, .. }) = self.executor.running.take() {
            self.executor.stats.count_buffered(lent_bytes, 0);
            if let Some(process) = self.table.lookup(id) {
                self.executor.stats.count_buffered(held_bytes, S::held_bytes(&process.state));
                self.executor.reset_on_close(process);
            }
            self.close(id, CloseReason::Panicked);
        }
    }
}
