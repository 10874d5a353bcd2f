//! The streams that a scheduler has to begin or to visit.
//!
//! Owns the order of both lists. Never runs a process.

use std::any::Any;
use std::collections::VecDeque;

use super::{ExtraIndex, Extras};
use crate::carriage::Stage;
use crate::slots::ProcessId;
use crate::stream::{Ending, StreamId};

/// Streams that wait for the next turn.
#[derive(Debug, Default)]
pub(super) struct Later {
    opened: VecDeque<StreamId>,
    awake: VecDeque<StreamId>,
}

impl Later {
    pub(super) fn is_empty(&self) -> bool {
        self.opened.is_empty() && self.awake.is_empty()
    }
}

impl Extras {
    /// The streams that had to wait for this turn come before those that come in it.
    #[inline(never)]
    pub(super) fn recall_later(&mut self) {
        let Later { opened, awake } = &mut self.later;
        for (waited, list) in [(opened, &mut self.opened), (awake, &mut self.awake)] {
            waited.append(list);
            std::mem::swap(waited, list);
        }
    }

    /// The next stream without a process.
    pub(crate) fn next_opened(&mut self) -> Option<StreamId> {
        loop {
            let id = self.opened.pop_front()?;
            if self.is_opened(id) {
                return Some(id);
            }
        }
    }

    /// How many streams wait for their processes.
    pub(crate) fn opened_count(&self) -> usize {
        self.opened.len()
    }

    /// A stream without a process waits for the next turn.
    pub(crate) fn begin_later(&mut self, id: StreamId) {
        self.later.opened.push_back(id);
    }

    /// Whether a stream has no process yet.
    pub(crate) fn is_opened(&mut self, id: StreamId) -> bool {
        self.stream(id).is_some_and(|stream| stream.carriage.stage() == Stage::Opened)
    }

    /// Takes that of which the process of a stream is made.
    pub(crate) fn take_opening(&mut self, id: StreamId) -> Option<Box<dyn Any>> {
        self.stream(id)?.carriage.take_opening()
    }

    /// A stream got its process. Returns the place of its extra.
    pub(crate) fn begin(&mut self, id: StreamId, process: ProcessId) -> Option<ExtraIndex> {
        let carriage = &mut self.stream(id)?.carriage;
        carriage.begin(process);
        if carriage.is_told() {
            self.wake(id);
        }
        ExtraIndex::of(id.place())
    }

    /// A stream without a process will have none.
    pub(crate) fn refuse(&mut self, id: StreamId, ending: Ending) {
        if self.is_opened(id)
            && let Some(index) = ExtraIndex::of(id.place())
        {
            self.end_stream(index, ending);
        }
    }

    /// The next stream that has to be visited.
    pub(crate) fn next_awake(&mut self) -> Option<StreamId> {
        self.awake.pop_front()
    }

    /// A stream that has to be visited waits for the next turn.
    pub(crate) fn visit_later(&mut self, id: StreamId) {
        self.later.awake.push_back(id);
    }

    /// A stream that had to be visited is visited now: its process, if it lives.
    pub(crate) fn calm_stream(&mut self, id: StreamId) -> Option<ProcessId> {
        let stream = self.stream(id)?;
        stream.is_awake = false;
        match stream.carriage.stage() {
            Stage::Lives(process) => Some(process),
            Stage::Opened | Stage::Ended(_) => None,
        }
    }

    /// How many streams wait to be visited.
    pub(crate) fn awake_count(&self) -> usize {
        self.awake.len()
    }
}
