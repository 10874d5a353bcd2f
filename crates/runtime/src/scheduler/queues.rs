//! The queues of processes that run without an event, and who wants something of a turn.
//!
//! Owns the order: each waits for the next turn if it was queued while the queue ran, and so does a stream whose
//! carrier has had its share. Never decides that a process is queued.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sys::pollset::{Pollset, Token};

use super::Scheduler;
use super::executor::Executor;
use crate::service::Service;
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Notes who wants something of this turn, of which there are so many events. Before anything of it runs.
    pub(super) fn note_wishes(&mut self, events: usize) {
        let mut wishes = self.executor.wishes;
        if events == 1 {
            let token = self.executor.pollset.event(0).token;
            if token != Token::WAKE {
                // That of a listener is nobody's name, so it counts as another.
                wishes.add(ProcessId::from_bits(token.0));
            }
        } else {
            wishes = wishes.with_others(events);
        }
        self.executor.extras.begin_turn(self.executor.stats.turns, wishes);
    }

    /// Runs the processes of a queue that were queued before now. Those queued meanwhile wait for the next turn.
    #[inline]
    pub(super) fn run_all(
        &mut self,
        queue: fn(&mut Executor<P, S>) -> &mut VecDeque<ProcessId>,
    ) -> bool {
        let left = queue(&mut self.executor).len();
        if left > 0 {
            self.run_first(queue, left);
        }
        left > 0
    }

    /// Runs the first processes of a queue, so many.
    #[inline(never)]
    fn run_first(
        &mut self,
        queue: fn(&mut Executor<P, S>) -> &mut VecDeque<ProcessId>,
        mut left: usize,
    ) {
        while left > 0 {
            let batch = catch_unwind(AssertUnwindSafe(|| {
                while left > 0 {
                    left -= 1;
                    let Some(id) = queue(&mut self.executor).pop_front() else { return };
                    if self.must_wait(id) {
                        queue(&mut self.executor).push_back(id);
                        continue;
                    }
                    self.visit(id, Executor::run_again);
                }
            }));
            if batch.is_err() {
                self.end_panicked();
            }
        }
    }

    /// Whether a process is a stream that has to wait for the next turn.
    #[inline]
    fn must_wait(&mut self, id: ProcessId) -> bool {
        if !self.executor.extras.is_wanted() {
            return false;
        }
        let Some(process) = self.table.lookup(id) else { return false };
        process.socket.is_none() && self.executor.extras.must_wait(process.extra)
    }
}
