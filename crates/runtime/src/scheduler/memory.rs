//! Memory: what a scheduler does when its processes' queues are nearly full.
//!
//! Owns the thresholds, the list of connections that are not read meanwhile, and the list of those
//! with much unsent output: the process that holds most gives it back, before others notice. Connections
//! without queued bytes are always read below the limit itself; otherwise a few that fill the
//! queues would stop all others.

use sys::pollset::Pollset;

use super::Scheduler;
use super::executor::{Executor, Lives, ProcessOf};
use crate::limits::{
    LARGE_OUTBOXES, MEMORY_PERCENT_OF_GIVE_BACK, MEMORY_PERCENT_OF_NO_CONNECTION,
    MEMORY_PERCENT_OF_NO_READ, MEMORY_PERCENT_OF_READ_AGAIN, MEMORY_PERCENT_OF_SMALL_OUTPUT,
};
use crate::process::Flags;
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Executor<P, S> {
    /// Whether the queues hold at least this percentage of their limit.
    #[inline]
    fn holds_percent(&self, percent: u64) -> bool {
        let limit = self.settings.buffered_bytes as u64;
        self.stats.buffered_bytes >= limit.saturating_mul(percent) / 100
    }

    /// Whether a process must wait for memory before it may receive. A process with queued bytes waits early; the
    /// others only at the limit.
    #[inline]
    pub(super) fn is_starving(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> bool {
        let short = self.holds_percent(MEMORY_PERCENT_OF_NO_READ);
        if !short && self.starved.is_empty() {
            return false;
        }
        let none_left = self.holds_percent(100);
        let holds = process.inbox.is_some() || process.outbox.is_some();
        // A connection whose peer has ended is read to its end, because that releases its memory.
        let ended = process.flags.has(Flags::ENDED) && process.outbox.is_none();
        if ended || !(short && holds || none_left) {
            process.flags.take(Flags::STARVED);
            return false;
        }
        if !process.flags.has(Flags::STARVED) {
            process.flags.set(Flags::STARVED);
            self.starved.push(id);
        }
        true
    }

    /// Bytes of unsent output from which on a process holds much.
    fn large_outbox_bytes(&self) -> usize {
        self.settings.buffered_bytes / LARGE_OUTBOXES
    }

    /// Whether an outbox of this many bytes may stay when the queues grow by `more` bytes. A small one may go beyond
    /// the limit: those that hold much give it back in the next turn.
    #[inline]
    pub(super) fn has_room_for(&self, outbox_bytes: usize, more: usize) -> bool {
        let held = self.stats.buffered_bytes.saturating_add(more as u64);
        let limit = self.settings.buffered_bytes as u64;
        held <= limit
            || outbox_bytes < self.large_outbox_bytes()
                && held <= limit.saturating_mul(MEMORY_PERCENT_OF_SMALL_OUTPUT) / 100
    }

    /// Lists a process whose output has grown and has to wait, once it holds much of it.
    #[inline]
    pub(super) fn note_outbox(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) {
        let large = self.large_outbox_bytes();
        if let Some(outbox) = &mut process.outbox
            && outbox.queued_bytes() >= large
            && outbox.is_newly_large()
        {
            self.large.push(id);
        }
    }

    /// Whether new connections should be refused.
    pub(super) fn is_short_of_memory(&self) -> bool {
        self.holds_percent(MEMORY_PERCENT_OF_NO_CONNECTION)
    }

    /// Lets a new process answer that there is no memory for it, and nothing more.
    pub(super) fn turn_away(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        self.stats.accepts_overloaded += 1;
        self.tell(id, process, Event::Overloaded)?;
        if process.mode.goes_on() { Err(CloseReason::Aborted) } else { Ok(()) }
    }
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Lets waiting processes receive again once there is room, and closes idle connections before there is none.
    #[inline]
    pub(super) fn relieve_memory(&mut self) {
        if !self.executor.starved.is_empty() {
            self.relieve_starved();
        }
        // Limit: processes that hold little by now are removed from the list before they outnumber the others.
        if self.executor.large.len() > 2 * LARGE_OUTBOXES {
            self.find_large();
        }
        if self.executor.holds_percent(MEMORY_PERCENT_OF_GIVE_BACK) {
            self.give_back();
        }
    }

    fn relieve_starved(&mut self) {
        if !self.executor.holds_percent(MEMORY_PERCENT_OF_READ_AGAIN) {
            for id in std::mem::take(&mut self.executor.starved) {
                if let Some(process) = self.table.lookup(id)
                    && process.flags.take(Flags::STARVED)
                {
                    self.executor.queue(id, process);
                }
            }
        } else if self.executor.starved.len() > 2 * self.table.len() {
            // Limit: ended processes are removed from the list before they outnumber the living ones.
            let table = &mut self.table;
            self.executor.starved.retain(|waiting| table.lookup(*waiting).is_some());
        }
    }

    /// Closes the processes that hold most. If none holds much, one idle connection per tick: a client that fills a few
    /// queues must not be able to close everyone's.
    fn give_back(&mut self) {
        let tick = self.executor.clock.now().tick();
        if self.shed == tick {
            return;
        }
        if !self.close_largest() {
            self.shed = tick;
            self.evict_idle();
        }
    }

    /// Closes the processes with the most unsent output, until the queues hold less. `false` if unsent output is not
    /// what fills them.
    fn close_largest(&mut self) -> bool {
        let mut holders = self.find_large();
        let unsent: usize = holders.iter().map(|(bytes, _)| bytes).sum();
        if (unsent as u64) < self.executor.stats.buffered_bytes / 2 || holders.is_empty() {
            return false;
        }
        holders.sort_unstable_by(|one, other| other.cmp(one));
        for (_, id) in holders {
            if let Some(process) = self.table.lookup(id) {
                let reason = self.executor.cut_for_want_of_memory(process);
                self.close(id, reason);
            }
            if !self.executor.holds_percent(MEMORY_PERCENT_OF_GIVE_BACK) {
                break;
            }
        }
        true
    }

    /// The processes with much unsent output, and how much. The list keeps no others.
    fn find_large(&mut self) -> Vec<(usize, ProcessId)> {
        let large = self.executor.large_outbox_bytes();
        let mut found = Vec::new();
        self.executor.large.sort_unstable();
        self.executor.large.dedup();
        self.executor.large.retain(|id| {
            let outbox = self.table.lookup(*id).and_then(|process| process.outbox.as_mut());
            let Some(outbox) = outbox else { return false };
            let bytes = outbox.queued_bytes();
            if bytes < large {
                outbox.note_small();
                return false;
            }
            found.push((bytes, *id));
            true
        });
        found
    }
}
