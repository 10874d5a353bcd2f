//! Memory: what a scheduler does when its processes' queues hold nearly all that they may.
//!
//! Owns the four thresholds and the list of those who are not read meanwhile. Nobody who holds nothing is kept
//! waiting below the limit itself: whoever fills the queues of some would stop the others, too.

use sys::pollset::Pollset;

use super::Scheduler;
use crate::limits::{
    MEMORY_PERCENT_OF_NO_CONNECTION, MEMORY_PERCENT_OF_NO_IDLE, MEMORY_PERCENT_OF_NO_READ,
    MEMORY_PERCENT_OF_READ_AGAIN,
};
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;
use crate::timer::Tick;

/// Those who wait for memory.
pub(super) struct Starved {
    /// Whoever was told to wait since all were fed; some have ended or been read since.
    waiting: Vec<ProcessId>,
    /// When an idle process was closed for want of memory.
    shed: Tick,
}

impl Starved {
    /// Nobody.
    pub(super) fn none() -> Self {
        Self { waiting: Vec::new(), shed: Tick::NEVER }
    }
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Whether queues hold so much of what they may.
    #[inline]
    fn holds_percent(&self, percent: u64) -> bool {
        let limit = self.settings.buffered_bytes as u64;
        self.stats.buffered_bytes >= limit.saturating_mul(percent) / 100
    }

    /// Whether a process has been told to wait for memory.
    #[inline]
    pub(super) fn is_waiting_for_memory(&mut self, id: ProcessId) -> bool {
        let told = |process: &mut crate::process::Process<_, _>| process.flags.has(Flags::STARVED);
        !self.starved.waiting.is_empty() && self.table.lookup(id).is_some_and(told)
    }

    /// Whether a process has to wait for memory before it may receive: who holds some already waits early, everybody
    /// at the limit.
    #[inline]
    pub(super) fn is_starving(&mut self, id: ProcessId) -> bool {
        let short = self.holds_percent(MEMORY_PERCENT_OF_NO_READ);
        if !short && self.starved.waiting.is_empty() {
            return false;
        }
        let none_left = self.holds_percent(100);
        let Some(process) = self.table.lookup(id) else { return false };
        let holds = process.inbox.is_some() || process.outbox.is_some();
        // Who has ended is read to its end: that is how what it holds is given back.
        let ended = process.flags.has(Flags::ENDED) && process.outbox.is_none();
        if ended || !(short && holds || none_left) {
            process.flags.take(Flags::STARVED);
            return false;
        }
        if !process.flags.has(Flags::STARVED) {
            process.flags.set(Flags::STARVED);
            self.remember_starved(id);
        }
        true
    }

    fn remember_starved(&mut self, id: ProcessId) {
        // Limit: those who ended are forgotten before they outnumber those who live.
        if self.starved.waiting.len() > 2 * self.table.len() {
            let table = &mut self.table;
            self.starved.waiting.retain(|waiting| table.lookup(*waiting).is_some());
        }
        self.starved.waiting.push(id);
    }

    /// Lets the starved receive again once there is room, and closes the longest idle before there is none.
    #[inline]
    pub(super) fn relieve_memory(&mut self) {
        if !self.starved.waiting.is_empty() && !self.holds_percent(MEMORY_PERCENT_OF_READ_AGAIN) {
            self.feed_starved();
        }
        if self.holds_percent(MEMORY_PERCENT_OF_NO_IDLE) {
            self.shed_idle();
        }
    }

    fn feed_starved(&mut self) {
        for id in std::mem::take(&mut self.starved.waiting) {
            if self.table.lookup(id).is_some_and(|process| process.flags.take(Flags::STARVED)) {
                self.queue(id);
            }
        }
    }

    /// One in a tick: who fills the queues of a few must not be able to drive everybody else away.
    fn shed_idle(&mut self) {
        let tick = self.clock.now().tick();
        if self.starved.shed != tick {
            self.starved.shed = tick;
            self.evict_idle();
        }
    }

    /// Whether queues may hold so many bytes more.
    #[inline]
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let held = self.stats.buffered_bytes.saturating_add(bytes as u64);
        held <= self.settings.buffered_bytes as u64
    }

    /// Whether new connections are to be refused.
    pub(super) fn is_short_of_memory(&self) -> bool {
        self.holds_percent(MEMORY_PERCENT_OF_NO_CONNECTION)
    }

    /// Lets a new process say that there is no memory for it, and no more than that.
    pub(super) fn turn_away(&mut self, id: ProcessId) {
        self.stats.accepts_overloaded += 1;
        self.tell(id, Event::Overloaded);
        let goes_on = |process: &mut crate::process::Process<_, _>| {
            matches!(process.mode, Mode::Reading | Mode::Parked)
        };
        if self.table.lookup(id).is_some_and(goes_on) {
            self.close(id, CloseReason::Aborted);
        }
    }
}
