//! Draining: stop accepting, let running requests finish, close the rest at the deadline.
//!
//! Owns the steps of an orderly shutdown. Closing a listener resets the connections in its queue
//! and on the way to it. So first no new connections may enter the queues, and those already there
//! are accepted for a while and served normally. Only after the listeners are closed are processes
//! notified: a client that reconnects then is refused, not reset.

use sys::pollset::Pollset;

use super::Scheduler;
use crate::limits::{DRAIN_ACCEPTS, DRAIN_DOORS_NS};
use crate::process::Mode;
use crate::service::{CloseReason, ListenerIndex, Service};

/// The step that a drain has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DrainStep {
    /// New connections cannot join the queues; those on the way are accepted.
    Doors,
    /// The listeners are closed and the processes have been told.
    Idle,
    /// Idle connections have been closed.
    Rest,
}

/// A drain in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    step: DrainStep,
    /// When the listeners are closed.
    doors_until_ns: u64,
    /// How long after that idle connections stay open.
    idle_grace_ns: u64,
    /// When everything is closed.
    deadline_ns: u64,
}

impl Drain {
    /// Whether the listeners are closed and the processes have been told.
    #[inline]
    pub(super) fn is_told(&self) -> bool {
        self.step != DrainStep::Doors
    }

    /// Whether the deadline has passed, so that nothing may begin any more.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.deadline_ns
    }

    fn idle_until_ns(&self) -> u64 {
        self.doors_until_ns.saturating_add(self.idle_grace_ns)
    }

    /// When the next step is due.
    pub(super) fn due_ns(&self) -> u64 {
        let next_ns = match self.step {
            DrainStep::Doors => self.doors_until_ns,
            DrainStep::Idle => self.idle_until_ns(),
            DrainStep::Rest => self.deadline_ns,
        };
        next_ns.min(self.deadline_ns)
    }
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Begins to drain. A second call can only bring the deadline forward.
    pub(super) fn begin_drain(&mut self, deadline_ms: u64, idle_grace_ms: u64) {
        let now_ns = self.executor.clock.now().monotonic_ns;
        let deadline_ns = now_ns.saturating_add(deadline_ms.saturating_mul(1_000_000));
        let idle_grace_ns = idle_grace_ms.saturating_mul(1_000_000);
        if let Some(drain) = &mut self.executor.drain {
            drain.deadline_ns = drain.deadline_ns.min(deadline_ns);
            drain.idle_grace_ns = drain.idle_grace_ns.min(idle_grace_ns);
            return;
        }
        let doors_until_ns = now_ns.saturating_add(DRAIN_DOORS_NS);
        let step = DrainStep::Doors;
        self.executor.drain = Some(Drain { step, doors_until_ns, idle_grace_ns, deadline_ns });
        if self.gates.iter().all(|gate| gate.listener().is_none()) {
            // Without listeners no connection can be on the way.
            self.close_doors();
            return;
        }
        for gate in &mut self.gates {
            gate.refuse_new(&mut self.executor.pollset);
        }
    }

    /// Accepts what waits at the listeners, closes them, and tells all processes.
    fn close_doors(&mut self) {
        self.accept_the_rest();
        for gate in &mut self.gates {
            gate.shut();
        }
        if let Some(drain) = &mut self.executor.drain {
            drain.step = DrainStep::Idle;
        }
        // The work of the processes now is not the end of the turn for the service.
        self.recalled = true;
        let ids: Vec<_> = self.table.ids().collect();
        for id in ids {
            self.guarded(|scheduler| {
                scheduler.visit(id, |executor, id, process| executor.tell_draining(id, process))
            });
        }
    }

    /// Accepts what waits in the queues, within a bound.
    fn accept_the_rest(&mut self) {
        for number in 0..self.gates.len() {
            let index = ListenerIndex(u16::try_from(number).expect("a few listeners"));
            let most = self.executor.stats.accepts + DRAIN_ACCEPTS;
            while self.executor.stats.accepts < most {
                let (accepts, panics) = (self.executor.stats.accepts, self.executor.stats.panics);
                self.guarded(|scheduler| scheduler.accept_waiting(index));
                if self.executor.stats.accepts == accepts && self.executor.stats.panics == panics {
                    break;
                }
            }
        }
    }

    /// Takes the steps that are due.
    pub(super) fn check_drain(&mut self) {
        let now_ns = self.executor.clock.now().monotonic_ns;
        let Some(drain) = self.executor.drain else { return };
        if drain.step == DrainStep::Doors && now_ns >= drain.due_ns() {
            self.close_doors();
        }
        let Some(drain) = self.executor.drain else { return };
        if now_ns >= drain.deadline_ns {
            let ids: Vec<_> = self.table.ids().collect();
            for id in ids {
                self.close(id, CloseReason::Stopped);
            }
        } else if drain.step == DrainStep::Idle && now_ns >= drain.idle_until_ns() {
            self.close_idle();
        }
    }

    fn close_idle(&mut self) {
        if let Some(drain) = &mut self.executor.drain {
            drain.step = DrainStep::Rest;
        }
        let ids: Vec<_> = self.table.ids().collect();
        for id in ids {
            // A process whose input is being discarded after its last answer has a shorter deadline of its own.
            self.visit(id, |executor, _, process| {
                let is_idle = process.mode != Mode::Discarding
                    && process.outbox.is_none()
                    && executor.extras.carries(process.extra) == 0
                    && S::is_idle(&process.state);
                if is_idle { Err(CloseReason::Finished) } else { Ok(()) }
            });
        }
    }
}
