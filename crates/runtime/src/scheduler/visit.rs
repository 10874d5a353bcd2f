//! A process comes into the table; and a visit to it: it is looked up, worked on, and then linked under its deadline,
//! or closed.
//!
//! Owns that a process is looked up once per event, and that one place closes ended processes.
//! Never works on it itself.

use sys::pollset::Pollset;

use super::Scheduler;
use super::executor::{Executor, Lives, ProcessOf};
use crate::service::Service;
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Adds a process, under the name that was announced. Returns whether there was room.
    pub(super) fn insert(&mut self, id: ProcessId, process: ProcessOf<P, S>) -> bool {
        let (kind, held_bytes) = (S::kind(&process.state), S::held_bytes(&process.state));
        let Ok(inserted) = self.table.insert(process) else { return false };
        debug_assert_eq!(inserted, id, "the name that was announced");
        self.executor.count_input(id, 0, held_bytes);
        self.executor.stats.count_open(kind, self.table.len());
        true
    }

    /// Works on a process, if it still lives. If its deadline moved back, that costs nothing here.
    #[inline]
    pub(super) fn visit(
        &mut self,
        id: ProcessId,
        work: impl FnOnce(&mut Executor<P, S>, ProcessId, &mut ProcessOf<P, S>) -> Lives,
    ) {
        let Some(process) = self.table.lookup(id) else { return };
        match work(&mut self.executor, id, process) {
            Ok(()) if process.outbox.is_none() && process.deadline >= process.link.linked() => {}
            Ok(()) => self.link_in_time(id),
            Err(reason) => self.close(id, reason),
        }
    }
}
