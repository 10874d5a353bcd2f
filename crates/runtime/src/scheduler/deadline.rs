//! Deadlines: set lazily, checked when their bucket expires.
//!
//! Owns the two clocks of a process: the deadline set by its service, and the watch on a peer that
//! does not read our output.

use sys::pollset::Pollset;

use super::Scheduler;
use super::executor::{Executor, Lives, ProcessOf};
use crate::process::{Mode, TableLinks, wheel_index};
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;
use crate::timer::Tick;
use crate::uptake::{Judgement, Uptake};

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Links a process at the time that now applies to it, unless it is linked earlier.
    pub(super) fn link_in_time(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        let due = self.executor.due(process);
        if due >= process.link.linked() {
            return;
        }
        self.unlink(id);
        self.wheel.link(&mut TableLinks(&mut self.table), wheel_index(id), due);
    }

    pub(super) fn unlink(&mut self, id: ProcessId) {
        self.wheel.unlink(&mut TableLinks(&mut self.table), wheel_index(id));
    }

    /// Visits every process whose bucket has expired.
    pub(super) fn expire_deadlines(&mut self) -> bool {
        let now = self.executor.clock.now();
        let mut any = false;
        while let Some(index) = self.wheel.expire(&mut TableLinks(&mut self.table), now.tick()) {
            any = true;
            let Some(id) = self.table.id_at(index as usize) else { continue };
            self.guarded(|scheduler| scheduler.visit(id, Executor::come_up));
        }
        any
    }
}

impl<P: Pollset, S: Service> Executor<P, S> {
    /// The time that applies to a process: while its output waits, the next check of its peer; otherwise its deadline.
    fn due(&self, process: &ProcessOf<P, S>) -> Tick {
        let now = self.clock.now();
        match &process.outbox {
            Some(outbox) => {
                let due_ns = outbox.look_due_ns(self.settings.floor());
                now.tick_after_ms(due_ns.saturating_sub(now.monotonic_ns).div_ceil(1_000_000))
            }
            None => process.deadline,
        }
    }

    /// The bucket of a process expired. This is no activity of the peer, so an idle process stays as idle as before.
    fn come_up(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let now = self.clock.now();
        let floor = self.settings.floor();
        if let Some(outbox) = &process.outbox
            && now.monotonic_ns >= outbox.look_due_ns(floor)
        {
            // The kernel reports room only when a good part of the socket's buffer is free. A peer that reads slowly
            // but steadily may need longer than its limit for that; only a send shows what it has read.
            self.transmit_outbox(id, process)?;
            process.last_run = now.tick();
            if self.is_slow_reader(process) {
                self.reset_on_close(process);
                return Err(CloseReason::SlowReader);
            }
        }
        // Its deadline did not run while output waited. When it is told that the output has been sent, it may set
        // another.
        self.tell_drained(id, process)?;
        if process.outbox.is_some() || process.deadline > now.tick() {
            return Ok(());
        }
        self.stats.deadlines += 1;
        let late = now.monotonic_ns.saturating_sub(self.clock.ns_of(process.deadline));
        self.stats.timer_lag_max_ns = self.stats.timer_lag_max_ns.max(late);
        self.sampler.note_late(late);
        process.deadline = Tick::NEVER;
        if process.mode == Mode::Discarding {
            return Err(CloseReason::Finished);
        }
        self.tell(id, process, Event::DeadlineReached)?;
        self.go_on_reading(id, process)
    }

    /// Whether a peer has read less than it must. Output that waits for a file counts too, so that no connection waits
    /// forever.
    fn is_slow_reader(&mut self, process: &mut ProcessOf<P, S>) -> bool {
        let now_ns = self.clock.now().monotonic_ns;
        let floor = self.settings.floor();
        let uptake = process.outbox.as_ref().and_then(|outbox| outbox.uptake.as_ref());
        if uptake.is_none_or(|uptake| now_ns < uptake.due_ns(floor)) {
            return false;
        }
        let outstanding = match &process.socket {
            Some(socket) => self.pollset.outstanding(socket),
            None => self.untaken(process),
        };
        let carriage = self.extras.carriage(process.extra);
        let is_excused = carriage.is_some_and(|carriage| carriage.take_excuse());
        let uptake = process.outbox.as_mut().and_then(|outbox| outbox.uptake.as_mut());
        let Some(uptake) = uptake else { return false };
        if is_excused {
            *uptake = Uptake::since(now_ns, outstanding);
        }
        uptake.look(now_ns, outstanding, floor) == Judgement::Slow
    }
}
