//! The times at which a service has something to do, for example for a waiting request.
//!
//! Owns their order. Never reads a clock and never acts: the owner checks its alarms at the end of
//! a turn, and requests a turn at the earliest one
//! ([`wake_at_ns`](crate::service::ServiceContext::wake_at_ns)). Deadlines of processes belong to
//! the scheduler.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::limits::STALE_ALARMS;

/// Due times in order, earliest first, each for a waiter named by a key. A waiter that is served before its time leaves
/// its entry behind; that stale entry is skipped later.
///
/// ```
/// use runtime::alarms::Alarms;
///
/// let mut alarms = Alarms::default();
/// alarms.set(20, "second");
/// alarms.set(10, "first");
/// assert_eq!(alarms.take_due(15), Some("first"));
/// assert_eq!(alarms.take_due(15), None);
/// assert_eq!(alarms.next_ns(), Some(20));
/// ```
#[derive(Debug)]
pub struct Alarms<K> {
    heap: BinaryHeap<Reverse<(u64, K)>>,
}

impl<K: Ord> Default for Alarms<K> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<K: Copy + Ord> Alarms<K> {
    /// Sets the time at which the waiter is served. `u64::MAX` means no time limit: the waiter only waits for something
    /// else.
    pub fn set(&mut self, due_ns: u64, key: K) {
        if due_ns != u64::MAX {
            self.heap.push(Reverse((due_ns, key)));
        }
    }

    /// Takes one waiter whose time has come.
    pub fn take_due(&mut self, now_ns: u64) -> Option<K> {
        let Reverse((due_ns, key)) = *self.heap.peek()?;
        if due_ns > now_ns {
            return None;
        }
        self.heap.pop();
        Some(key)
    }

    /// The earliest due time.
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Drops stale entries once there may be more of them than live ones. `due` returns the time a waiter
    /// currently waits for.
    pub fn tidy(&mut self, waiting: usize, due: impl Fn(K) -> Option<u64>) {
        if self.heap.len() > 2 * waiting + STALE_ALARMS {
            self.heap.retain(|Reverse((due_ns, key))| due(*key) == Some(*due_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_in_the_order_of_their_times() {
        let mut alarms = Alarms::default();
        alarms.set(30, 3);
        alarms.set(10, 1);
        alarms.set(u64::MAX, 9);
        alarms.set(20, 2);
        assert_eq!(alarms.take_due(9), None);
        assert_eq!(alarms.take_due(20), Some(1));
        assert_eq!(alarms.take_due(20), Some(2));
        assert_eq!(alarms.take_due(20), None);
        assert_eq!(alarms.next_ns(), Some(30));
        assert_eq!(alarms.take_due(u64::MAX), Some(3));
        assert_eq!(alarms.next_ns(), None);
    }

    #[test]
    fn times_that_nobody_waits_for_do_not_pile_up() {
        let mut alarms = Alarms::default();
        let rounds = 10 * STALE_ALARMS as u64;
        for round in 1..=rounds {
            alarms.set(1_000_000 + round, 7);
            alarms.tidy(1, |_| Some(1_000_000 + round));
            assert!(alarms.heap.len() <= STALE_ALARMS + 2);
        }
        assert_eq!(alarms.take_due(u64::MAX), Some(7));
    }
}
