//! Receives for a process that wants its input kept until it reads again.
//!
//! Owns that one step. `run` gives a process its input.

use sys::pollset::{Pollset, Received, Rest};

use super::executor::{Executor, Lives, ProcessOf};
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Service};
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Executor<P, S> {
    /// One receive, kept for later.
    pub(super) fn collect_once(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let Some(socket) = &process.socket else { return Ok(()) };
        let (bytes, rest) = match self.pollset.receive(socket) {
            Received::Bytes(bytes, rest) => (bytes, rest),
            Received::Blocked => {
                process.flags.take(Flags::READABLE);
                return Ok(());
            }
            // The end is seen again, after the input before it, when the process reads.
            Received::End => {
                process.mode = Mode::Parked;
                return Ok(());
            }
            Received::Failed(_) => return Err(CloseReason::Failed),
        };
        self.stats.receives += 1;
        self.stats.received_bytes += bytes.len() as u64;
        if let Some(watch) = &mut self.watch {
            watch.of_mut(id).received_bytes += bytes.len() as u64;
        }
        if rest == Rest::No && !process.flags.has(Flags::ENDED) {
            process.flags.take(Flags::READABLE);
        }
        let before = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        process.keep(bytes, 0);
        let after = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        self.count_input(id, before, after);
        Self::check_inbox(process)
    }
}
