//! When page processes go on: the times they wait for.
//!
//! Owns the order of the times. Never reads a clock, and never runs anything.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::process::Key;
use crate::limits::STALE_ALARMS;

/// The times, the earliest first. Who went on before its time has one too many, which is passed over.
#[derive(Default)]
pub(super) struct Alarms {
    heap: BinaryHeap<Reverse<(u64, Key)>>,
}

impl Alarms {
    /// Somebody goes on at this time. `u64::MAX` never comes: it waits for something else alone.
    pub(super) fn set(&mut self, due_ns: u64, key: Key) {
        if due_ns != u64::MAX {
            self.heap.push(Reverse((due_ns, key)));
        }
    }

    /// One whose time has come.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<Key> {
        let Reverse((due_ns, key)) = *self.heap.peek()?;
        if due_ns > now_ns {
            return None;
        }
        self.heap.pop();
        Some(key)
    }

    /// The earliest time.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Drops times that nobody waits for any more, when they may be more than those that somebody does. `due` tells
    /// what a process waits for now.
    pub(super) fn tidy(&mut self, waiting: usize, due: impl Fn(Key) -> Option<u64>) {
        if self.heap.len() > 2 * waiting + STALE_ALARMS {
            self.heap.retain(|Reverse((due_ns, key))| due(*key) == Some(*due_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime::slots::ProcessId;

    use super::*;

    fn key(number: u64) -> Key {
        Key::Request(ProcessId::from_bits(number))
    }

    #[test]
    fn they_come_in_the_order_of_their_times() {
        let mut alarms = Alarms::default();
        alarms.set(30, key(3));
        alarms.set(10, key(1));
        alarms.set(u64::MAX, key(9));
        alarms.set(20, key(2));
        assert_eq!(alarms.take_due(9), None);
        assert_eq!(alarms.take_due(20), Some(key(1)));
        assert_eq!(alarms.take_due(20), Some(key(2)));
        assert_eq!(alarms.take_due(20), None);
        assert_eq!(alarms.next_ns(), Some(30));
        assert_eq!(alarms.take_due(u64::MAX), Some(key(3)));
        assert_eq!(alarms.next_ns(), None);
    }

    #[test]
    fn times_that_nobody_waits_for_do_not_pile_up() {
        let mut alarms = Alarms::default();
        let rounds = 10 * STALE_ALARMS as u64;
        for round in 1..=rounds {
            alarms.set(1_000_000 + round, key(7));
            alarms.tidy(1, |_| Some(1_000_000 + round));
            assert!(alarms.heap.len() <= STALE_ALARMS + 2);
        }
        assert_eq!(alarms.take_due(u64::MAX), Some(key(7)));
    }
}
