//! The queues of processes that run without an event, and who wants something of a turn.
//!
//! Owns the order: each waits for the next turn if it was queued while the queue ran, and so does a stream whose
//! carrier has had its share. Never decides that a process is queued.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sys::pollset::{Pollset, Token};

use super::Scheduler;
use crate::extras::Wishes;
use crate::process::Process;
use crate::service::Service;
use crate::slots::ProcessId;

/// A queue of processes.
#[derive(Clone, Copy)]
pub(super) enum Queue {
    /// Those that the service wants to run before the events of the next turn.
    Resumed,
    /// Those that run after the events.
    Run,
}

/// Both queues of a scheduler.
#[derive(Default)]
pub(super) struct Queues {
    resumed: VecDeque<ProcessId>,
    run: VecDeque<ProcessId>,
    /// Those in the queues, other than streams, that want something of the next turn.
    wishes: Wishes,
}

impl Queues {
    /// Puts a process into one of them.
    #[inline]
    pub(super) fn push<S, T>(&mut self, queue: Queue, id: ProcessId, process: &Process<S, T>) {
        self.of(queue).push_back(id);
        if process.socket.is_some() {
            self.wishes.add(id);
        }
    }

    /// The events of a turn are over: what is queued from now on is for the next one.
    pub(super) fn end_turn(&mut self) {
        self.wishes = Wishes::default();
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.resumed.is_empty() && self.run.is_empty()
    }

    #[inline]
    fn of(&mut self, queue: Queue) -> &mut VecDeque<ProcessId> {
        match queue {
            Queue::Resumed => &mut self.resumed,
            Queue::Run => &mut self.run,
        }
    }
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Notes who wants something of this turn, of which there are so many events. Before anything of it runs.
    #[inline]
    pub(super) fn note_wishes(&mut self, events: usize) {
        let mut wishes = self.executor.queues.wishes;
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
    pub(super) fn run_all(&mut self, queue: Queue) -> bool {
        let left = self.executor.queues.of(queue).len();
        if left == 0 {
            return false;
        }
        match queue {
            Queue::Resumed => self.run_first(queue, left),
            Queue::Run => {
                self.executor.handshakes.open();
                self.run_first(queue, left);
                self.executor.handshakes.close();
            }
        }
        true
    }

    /// Runs the first processes of a queue, so many.
    #[inline(never)]
    fn run_first(&mut self, queue: Queue, mut left: usize) {
        while left > 0 {
            let batch = catch_unwind(AssertUnwindSafe(|| {
                while left > 0 {
                    left -= 1;
                    let Some(id) = self.executor.queues.of(queue).pop_front() else { return };
                    if self.must_wait(id) {
                        self.executor.queues.of(queue).push_back(id);
                        continue;
                    }
                    self.visit(id, |executor, id, process| executor.run_again(id, process));
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
