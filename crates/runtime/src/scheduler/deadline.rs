//! Deadlines: armed lazily, looked at when their bucket comes up.
//!
//! Owns the two clocks a process may be under: the deadline its service set, and the watch on a peer that does
//! not take our output.

use sys::pollset::Pollset;

use super::Scheduler;
use crate::process::{TableLinks, wheel_index};
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;
use crate::timer::Tick;
use crate::uptake::Judgement;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// The clock a process is under now: while its output waits, the watch on its peer; else its deadline.
    fn due(&mut self, id: ProcessId) -> Tick {
        let floor = self.settings.floor();
        let now = self.clock.now();
        let Some(process) = self.table.lookup(id) else { return Tick::NEVER };
        match &process.outbox {
            Some(outbox) => {
                let left_ns = outbox.uptake.due_ns(floor).saturating_sub(now.monotonic_ns);
                now.tick_after_ms(left_ns.div_ceil(1_000_000))
            }
            None => process.deadline,
        }
    }

    /// After a run: notes when it was, and makes sure that the process comes up no later than it has to. A later
    /// deadline costs nothing here.
    #[inline]
    pub(super) fn arm(&mut self, id: ProcessId) {
        let tick = self.clock.now().tick();
        let Some(process) = self.table.lookup(id) else { return };
        process.last_run = tick;
        if process.outbox.is_none() && process.deadline >= process.link.linked() {
            return;
        }
        self.link_in_time(id);
    }

    /// Links a process under the clock it is under, unless it comes up before.
    fn link_in_time(&mut self, id: ProcessId) {
        let due = self.due(id);
        let Some(process) = self.table.lookup(id) else { return };
        if due >= process.link.linked() {
            return;
        }
        self.unlink(id);
        self.wheel.link(&mut TableLinks(&mut self.table), wheel_index(id), due);
    }

    pub(super) fn unlink(&mut self, id: ProcessId) {
        self.wheel.unlink(&mut TableLinks(&mut self.table), wheel_index(id));
    }

    /// Looks at every process whose bucket came up.
    pub(super) fn expire_deadlines(&mut self) -> bool {
        let now = self.clock.now();
        let mut any = false;
        while let Some(index) = self.wheel.expire(&mut TableLinks(&mut self.table), now.tick()) {
            any = true;
            let Some(id) = self.table.id_at(index as usize) else { continue };
            self.come_up(id);
        }
        any
    }

    fn come_up(&mut self, id: ProcessId) {
        let now = self.clock.now();
        self.try_before_judging(id);
        if self.is_slow_reader(id) {
            if let Some(process) = self.table.lookup(id) {
                self.pollset.reset_on_close(&process.socket);
            }
            self.close(id, CloseReason::SlowReader);
            return;
        }
        let Some(process) = self.table.lookup(id) else { return };
        if process.outbox.is_none() && process.deadline <= now.tick() {
            self.stats.deadlines += 1;
            let late = now.monotonic_ns.saturating_sub(self.clock.ns_of(process.deadline));
            self.stats.timer_lag_max_ns = self.stats.timer_lag_max_ns.max(late);
            process.deadline = Tick::NEVER;
            if process.mode == crate::process::Mode::Discarding {
                self.close(id, CloseReason::Finished);
                return;
            }
            self.guarded(|scheduler| {
                scheduler.tell(id, Event::DeadlineReached);
                scheduler.go_on_reading(id);
            });
        }
        // Coming up is no activity of the peer: it stays as idle as it was.
        self.link_in_time(id);
    }

    /// Room is reported only when a good part of the socket's buffer is free. A peer that reads slowly but
    /// steadily may take longer than its time for that much: what it took shows when we send.
    fn try_before_judging(&mut self, id: ProcessId) {
        let now = self.clock.now();
        let floor = self.settings.floor();
        let Some(process) = self.table.lookup(id) else { return };
        let Some(outbox) = &process.outbox else { return };
        if now.monotonic_ns >= outbox.uptake.due_ns(floor) {
            self.guarded(|scheduler| scheduler.transmit_outbox(id));
            if let Some(process) = self.table.lookup(id) {
                process.last_run = now.tick();
            }
        }
    }

    /// Whether a peer took less than it has to. Output that waits for a file counts as well, so that no connection waits for ever.
    fn is_slow_reader(&mut self, id: ProcessId) -> bool {
        let now_ns = self.clock.now().monotonic_ns;
        let floor = self.settings.floor();
        let Some(process) = self.table.lookup(id) else { return false };
        let Some(outbox) = &mut process.outbox else { return false };
        if now_ns < outbox.uptake.due_ns(floor) {
            return false;
        }
        let outstanding = self.pollset.outstanding(&process.socket);
        outbox.uptake.look(now_ns, outstanding, floor) == Judgement::Slow
    }
}
