//! Which runs go on at the end of a turn.
//!
//! Owns their order. A run that has not used up a time slice goes before all that have; this holds for requests, and for processes. Never
//! runs anything.

use std::collections::VecDeque;

use super::process::Key;

/// How much time a ready run has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// Less than one time slice.
    Little,
    /// A time slice or more.
    Much,
}

/// The ready runs of one kind, requests or processes, in two queues.
#[derive(Default)]
pub(super) struct Queue {
    /// Runs that go on in the same turn, as long as its share lasts.
    fresh: VecDeque<Key>,
    /// Runs of which one goes on in each turn, for a slice. So each has its turn.
    worn: VecDeque<Key>,
}

impl Queue {
    /// The first run that has used little.
    pub(super) fn take_fresh(&mut self) -> Option<Key> {
        self.fresh.pop_front()
    }

    /// The first run that has used much.
    pub(super) fn take_worn(&mut self) -> Option<Key> {
        self.worn.pop_front()
    }

    /// How many runs are ready.
    pub(super) fn len(&self) -> usize {
        self.fresh.len() + self.worn.len()
    }
}

/// All ready runs. Requests do not wait behind processes, nor processes behind requests.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) requests: Queue,
    pub(super) processes: Queue,
}

impl Ready {
    /// Puts a run behind all of its kind that have used as much.
    pub(super) fn push(&mut self, key: Key, used: Used) {
        let queue = match key {
            Key::Request(_) => &mut self.requests,
            Key::Spawned(_) => &mut self.processes,
        };
        match used {
            Used::Little => queue.fresh.push_back(key),
            Used::Much => queue.worn.push_back(key),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.len() + self.processes.len() == 0
    }
}
