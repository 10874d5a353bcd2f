//! Draining: stop accepting, let what runs finish, close what is left at the deadline.
//!
//! Owns the steps of an orderly stop. What waits in the listeners' queues is accepted first: closing a listener
//! resets the connections in its queue.

use sys::pollset::Pollset;

use super::Scheduler;
use crate::limits::ACCEPTS_PER_TURN;
use crate::process::{Mode, Process};
use crate::service::{CloseReason, ListenerIndex, Service};

/// A drain under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    /// When idle connections are closed.
    idle_until_ns: u64,
    /// When everything is closed.
    deadline_ns: u64,
    idle_closed: bool,
}

impl Drain {
    /// When something is to be done next.
    pub(super) fn due_ns(&self) -> u64 {
        if self.idle_closed { self.deadline_ns } else { self.idle_until_ns }
    }
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Begins to drain; a second call can only bring the deadline nearer.
    pub(super) fn begin_drain(&mut self, deadline_ms: u64, idle_grace_ms: u64) {
        let now_ns = self.clock.now().monotonic_ns;
        let deadline_ns = now_ns.saturating_add(deadline_ms.saturating_mul(1_000_000));
        let idle_until_ns = now_ns.saturating_add(idle_grace_ms.min(deadline_ms) * 1_000_000);
        if let Some(drain) = &mut self.drain {
            drain.deadline_ns = drain.deadline_ns.min(deadline_ns);
            drain.idle_until_ns = drain.idle_until_ns.min(idle_until_ns);
            return;
        }
        self.drain = Some(Drain { idle_until_ns, deadline_ns, idle_closed: false });
        self.accept_the_rest();
        for gate in &mut self.gates {
            gate.shut();
        }
        let ids: Vec<_> = self.table.ids().collect();
        for id in ids {
            self.guarded(|scheduler| scheduler.tell_draining(id));
        }
    }

    /// Takes what waits in the queues, within a bound.
    fn accept_the_rest(&mut self) {
        for number in 0..self.gates.len() {
            let index = ListenerIndex(u16::try_from(number).expect("a few listeners"));
            // Limit: a queue is at most net.core.somaxconn long; sixteen rounds empty 4,096.
            for _ in 0..4096 / ACCEPTS_PER_TURN {
                let (accepts, panics) = (self.stats.accepts, self.stats.panics);
                self.guarded(|scheduler| scheduler.accept_waiting(index));
                if self.stats.accepts == accepts && self.stats.panics == panics {
                    break;
                }
            }
        }
    }

    /// Closes idle connections when their grace is over, and the rest at the deadline.
    pub(super) fn check_drain(&mut self) {
        let Some(drain) = &mut self.drain else { return };
        let now_ns = self.clock.now().monotonic_ns;
        if now_ns >= drain.deadline_ns {
            let ids: Vec<_> = self.table.ids().collect();
            for id in ids {
                self.close(id, CloseReason::Stopped);
            }
        } else if now_ns >= drain.idle_until_ns && !drain.idle_closed {
            drain.idle_closed = true;
            let ids: Vec<_> = self.table.ids().collect();
            for id in ids {
                // Who is being listened to after the last answer has a shorter deadline of its own.
                let idle = |process: &mut Process<P::Socket, S::Process>| {
                    process.mode != Mode::Discarding
                        && process.outbox.is_none()
                        && S::is_idle(&process.state)
                };
                if self.table.lookup(id).is_some_and(idle) {
                    self.close(id, CloseReason::Finished);
                }
            }
        }
    }
}
