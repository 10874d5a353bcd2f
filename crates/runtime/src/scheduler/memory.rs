//! Memory: what a scheduler does when its processes' queues are nearly full.
//!
//! Owns the thresholds, the list of connections that are not read meanwhile, and the list of those
//! that hold much, in either direction: the client that holds most gives it back, before others notice. Connections
//! without unsent output are always read below the limit itself; otherwise a few that fill the
//! queues would stop all others, and none could send the rest of what it has begun.

use sys::pollset::Pollset;

use super::Scheduler;
use super::executor::{Executor, Lives, ProcessOf};
use super::holders::{self, Holder};
use crate::limits::{
    LARGE_HOLDERS, MEMORY_PERCENT_OF_GIVE_BACK, MEMORY_PERCENT_OF_NO_CONNECTION,
    MEMORY_PERCENT_OF_NO_READ, MEMORY_PERCENT_OF_READ_AGAIN, MEMORY_PERCENT_OF_SMALL_OUTPUT,
    SWEEP_REST_NS, TICK_MS,
};
use crate::process::Flags;
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Executor<P, S> {
    /// Whether the queues hold at least this percentage of their limit. The smallest that is asked for is
    /// [`MEMORY_PERCENT_OF_READ_AGAIN`].
    #[inline]
    fn holds_percent(&self, percent: u64) -> bool {
        let held = self.stats.buffered_bytes;
        held >= self.scarce_bytes && held >= self.settings.percent_of_buffered(percent)
    }

    /// Whether a process must wait for memory before it may receive. A process with unsent output waits early; the
    /// others only at the limit.
    #[inline]
    pub(super) fn is_starving(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> bool {
        let short = self.holds_percent(MEMORY_PERCENT_OF_NO_READ);
        if !short && self.starved.is_empty() {
            return false;
        }
        let none_left = self.holds_percent(100);
        let holds = process.outbox.is_some();
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

    /// Bytes from which on a process holds much.
    fn large_bytes(&self) -> usize {
        self.settings.buffered_bytes / LARGE_HOLDERS
    }

    /// All bytes of memory that are counted for a process.
    pub(super) fn held_by(process: &ProcessOf<P, S>) -> usize {
        process.buffered_bytes() + S::held_bytes(&process.state)
    }

    /// Whether an outbox of this many bytes may stay when the queues grow by `more` bytes. A small one may go beyond
    /// the limit: those that hold much give it back in the next turn.
    #[inline]
    pub(super) fn has_room_for(&self, outbox_bytes: usize, more: usize) -> bool {
        let held = self.stats.buffered_bytes.saturating_add(more as u64);
        let limit = self.settings.buffered_bytes as u64;
        held <= limit
            || outbox_bytes < self.large_bytes()
                && held <= limit.saturating_mul(MEMORY_PERCENT_OF_SMALL_OUTPUT) / 100
    }

    /// Lists a process whose output has grown and has to wait, once it holds much of it.
    #[inline]
    pub(super) fn note_output(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) {
        let large = self.large_bytes();
        if let Some(outbox) = &mut process.outbox
            && outbox.queued_bytes() >= large
            && outbox.is_newly_large()
        {
            self.large.push(id);
        }
    }

    /// Counts input that a process came to hold, in its inbox or in its state, or let go, and lists the process once it
    /// holds much.
    #[inline]
    pub(super) fn count_input(&mut self, id: ProcessId, before: usize, after: usize) {
        if before == after {
            return;
        }
        self.stats.count_buffered(before, after);
        let large = self.large_bytes();
        if before < large && after >= large {
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
        self.tell_overloaded(id, process)
    }

    fn tell_overloaded(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        self.tell(id, process, Event::Overloaded)?;
        if process.mode.goes_on() { Err(CloseReason::Aborted) } else { Ok(()) }
    }

    /// Ends a process that holds most: it says so to its peer, unless the peer has output to read first.
    fn end_for_want_of_memory(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        self.stats.ended_for_memory += 1;
        if process.outbox.is_some() || !process.mode.goes_on() {
            return Err(self.cut_for_want_of_memory(process));
        }
        self.tell_overloaded(id, process)?;
        // It reads no more.
        let unread = process.inbox.take().map_or(0, |inbox| inbox.capacity());
        self.count_input(id, unread, 0);
        Ok(())
    }
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Lets waiting processes receive again once there is room, and ends those that hold most before there is none.
    #[inline]
    pub(super) fn relieve_memory(&mut self) {
        if !self.executor.starved.is_empty() {
            self.relieve_starved();
        }
        // Limit: processes that hold little by now are removed from the list before they outnumber the others.
        if self.executor.large.len() > 2 * LARGE_HOLDERS {
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

    /// Ends the processes that hold most: among those that hold much, or if they hold the smaller part, among all. To
    /// find these takes a look at the whole table, so it is done seldom.
    fn give_back(&mut self) {
        let large = self.find_large();
        let held: usize = large.iter().map(|holder| holder.bytes).sum();
        if held as u64 >= self.executor.stats.buffered_bytes / 2 {
            return self.end_largest(large);
        }
        let now_ns = self.executor.clock.now().monotonic_ns;
        if now_ns >= self.sweeps_ns {
            let rest_ns = (self.table.len() as u64 * SWEEP_REST_NS).max(TICK_MS * 1_000_000);
            self.sweeps_ns = now_ns + rest_ns;
            let all = self.find_all();
            self.end_largest(all);
        }
    }

    /// Ends these processes, those of the client that holds most first, until less is held.
    fn end_largest(&mut self, holders: Vec<Holder>) {
        for id in holders::by_size(holders) {
            self.guarded(|scheduler| scheduler.visit(id, Executor::end_for_want_of_memory));
            if !self.executor.holds_percent(MEMORY_PERCENT_OF_GIVE_BACK) {
                break;
            }
        }
    }

    /// All processes that hold anything, and how much. That of a stream has input that it has not read, too.
    fn find_all(&mut self) -> Vec<Holder> {
        let mut found = Vec::new();
        for (id, process) in self.table.iter() {
            let carriage = self.executor.extras.carriage(process.extra);
            let unread = carriage.map_or(0, |carriage| carriage.input_capacity());
            let bytes = Executor::<P, S>::held_by(process) + unread;
            if bytes > 0 {
                found.push(Holder { id, bytes, client: S::client(&process.state) });
            }
        }
        found
    }

    /// The processes that hold much, and how much. The list keeps no others.
    fn find_large(&mut self) -> Vec<Holder> {
        let large = self.executor.large_bytes();
        let mut found = Vec::new();
        self.executor.large.sort_unstable();
        self.executor.large.dedup();
        self.executor.large.retain(|id| {
            let Some(process) = self.table.lookup(*id) else { return false };
            let bytes = Executor::<P, S>::held_by(process);
            if bytes < large {
                if let Some(outbox) = &mut process.outbox {
                    outbox.note_small();
                }
                return false;
            }
            found.push(Holder { id: *id, bytes, client: S::client(&process.state) });
            true
        });
        found
    }
}
