//! Who goes on at the end of a turn.
//!
//! Owns the order: whoever has not used up a time slice goes before all who have. Never runs anything.

use std::collections::VecDeque;

use super::process::Key;

/// What a process has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// Less than one time slice.
    Little,
    /// A time slice or more.
    Much,
}

/// Those that are ready, in two queues.
#[derive(Default)]
pub(super) struct Ready {
    /// They go on in the same turn, as many as have room in its share.
    fresh: VecDeque<Key>,
    /// One of them goes on in each turn, and with it they all do at some time: a slice each.
    worn: VecDeque<Key>,
}

impl Ready {
    /// Puts one behind all that have used as much.
    pub(super) fn push(&mut self, key: Key, used: Used) {
        match used {
            Used::Little => self.fresh.push_back(key),
            Used::Much => self.worn.push_back(key),
        }
    }

    /// The first of those who have used little.
    pub(super) fn take_fresh(&mut self) -> Option<Key> {
        self.fresh.pop_front()
    }

    /// The first of those who have used much.
    pub(super) fn take_worn(&mut self) -> Option<Key> {
        self.worn.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.worn.is_empty()
    }
}
