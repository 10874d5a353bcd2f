//! Who goes on at the end of a turn.
//!
//! Owns the order: whoever has not used up a time slice goes before all who have, among requests and among processes. Never runs
//! anything.

use std::collections::VecDeque;

use super::process::Key;

/// What one that is ready has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// Less than one time slice.
    Little,
    /// A time slice or more.
    Much,
}

/// Those of one kind that are ready, in two queues.
#[derive(Default)]
pub(super) struct Queue {
    /// They go on in the same turn, as many as have room in its share.
    fresh: VecDeque<Key>,
    /// One of them goes on in each turn, and with it they all do at some time: a slice each.
    worn: VecDeque<Key>,
}

impl Queue {
    /// The first of those who have used little.
    pub(super) fn take_fresh(&mut self) -> Option<Key> {
        self.fresh.pop_front()
    }

    /// The first of those who have used much.
    pub(super) fn take_worn(&mut self) -> Option<Key> {
        self.worn.pop_front()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.fresh.len() + self.worn.len()
    }
}

/// Those that are ready: neither kind waits behind the other.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) requests: Queue,
    pub(super) processes: Queue,
}

impl Ready {
    /// Puts one behind all of its kind that have used as much.
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
