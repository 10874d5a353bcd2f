//! Discarding: what a peer still sends after a last answer is received and dropped, within bounds, so that it can read
//! the answer (RFC 9112 section 9.6).
//!
//! Owns the bounds of one process. Never closes it.

use sys::pollset::{Pollset, Received};

use super::executor::{Executor, Lives, ProcessOf};
use crate::extras::Extra;
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Service};
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Executor<P, S> {
    pub(super) fn begin_to_discard(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) {
        process.mode = Mode::Discarding;
        let extras = &mut self.extras;
        process.extra = process.extra.or_else(|| extras.insert(Extra::default()));
        if let Some(extra) = process.extra.and_then(|extra| extras.at(extra)) {
            extra.allow_discarding(self.settings.linger_bytes);
        }
        process.flags.set(Flags::READABLE);
        process.deadline = self.clock.now().tick_after_ms(self.settings.linger_ms);
        let before = process.inbox.take().map_or(0, |inbox| inbox.capacity());
        self.stats.count_buffered(before, 0);
        if let Some(socket) = &process.socket {
            self.pollset.end_output(socket);
        }
        self.queue(id, process);
    }

    /// Discards received bytes, as far as the process may still discard some.
    pub(super) fn discard(&mut self, process: &ProcessOf<P, S>, count: usize) -> Lives {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let extra = process.extra.and_then(|extra| self.extras.at(extra));
        extra.and_then(|extra| extra.discard(count)).ok_or(CloseReason::Failed)
    }

    /// One receive whose bytes are discarded.
    pub(super) fn discard_once(&mut self, process: &mut ProcessOf<P, S>) -> Lives {
        let Some(socket) = &process.socket else { return Ok(()) };
        match self.pollset.receive(socket) {
            Received::Bytes(bytes, _) => {
                let count = bytes.len();
                self.discard(process, count)
            }
            Received::Blocked => {
                process.flags.take(Flags::READABLE);
                Ok(())
            }
            Received::End => Err(CloseReason::Finished),
            Received::Failed(_) => Err(CloseReason::Failed),
        }
    }
}
