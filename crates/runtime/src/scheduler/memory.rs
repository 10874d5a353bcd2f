//! Memory: what a scheduler does when its processes' queues are nearly full.
//!
//! Owns the four thresholds and the list of connections that are not read meanwhile. Connections
//! without queued bytes are always read below the limit itself; otherwise a few that fill the
//! queues would stop all others.

use sys::pollset::Pollset;

use super::Scheduler;
use super::executor::{Executor, Lives, ProcessOf};
use crate::limits::{
    MEMORY_PERCENT_OF_NO_CONNECTION, MEMORY_PERCENT_OF_NO_IDLE, MEMORY_PERCENT_OF_NO_READ,
    MEMORY_PERCENT_OF_READ_AGAIN,
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

    /// Whether a process must wait for memory before it may receive. A process with queued bytes waits early; the others
    /// only at the limit.
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

    /// Whether the queues may grow by this many bytes.
    #[inline]
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let held = self.stats.buffered_bytes.saturating_add(bytes as u64);
        held <= self.settings.buffered_bytes as u64
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
        if self.executor.holds_percent(MEMORY_PERCENT_OF_NO_IDLE) {
            self.shed_idle();
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

    /// One per tick: a client that fills a few queues must not be able to close everyone's idle connections.
    fn shed_idle(&mut self) {
        let tick = self.executor.clock.now().tick();
        if self.shed != tick {
            self.shed = tick;
            self.evict_idle();
        }
    }
}
