//! The clock of a leader, as a replica sees it.
//!
//! Keys expire by the leader's clock. The clients of a replica live by that of their own server. Owns the difference,
//! and how times are converted: in orders on their way to the leader, and in what is read. A client of a replica sees
//! the times of its own server only.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::change::{DatabaseChange, Expiry};
use crate::limits::{CLOCK_MESSAGES, CLOCKS_APART_MS};
use crate::order::{Executed, Order, StoreOperation};
use crate::outcome::{Remaining, StepOutcome};
use crate::record::StoredEntry;

/// How far the clock of the leader is ahead of this one. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaderClock(Arc<AtomicI64>);

impl LeaderClock {
    /// How far the leader is ahead, in milliseconds.
    pub(crate) fn ahead(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// This store leads.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The clock of one leader, by its messages.
#[derive(Debug, Default)]
pub(crate) struct ClockWatch {
    /// Whether none has been heard yet.
    is_known: bool,
    /// Messages one after the other that say less than what is believed.
    lower: u32,
}

impl ClockWatch {
    /// The leader's clock has shown one time when its message was sent, and this one the other when it arrived. A
    /// message takes time, so a single one may say too little, and never too much. Clocks that are less than a second
    /// apart count as the same, and a difference stays what it is as long as it is not wrong by more, so that a time
    /// that is converted there and back is the same.
    pub(crate) fn note(&mut self, clock: &LeaderClock, leader_ms: u64, own_ms: u64) {
        let said = leader_ms.cast_signed().saturating_sub(own_ms.cast_signed());
        let ahead = if said.abs() < CLOCKS_APART_MS { 0 } else { said };
        let known = clock.ahead();
        let is_lower = ahead <= known - CLOCKS_APART_MS;
        self.lower = if is_lower { self.lower + 1 } else { 0 };
        let is_higher = ahead >= known + CLOCKS_APART_MS;
        if !self.is_known || is_higher || self.lower >= CLOCK_MESSAGES {
            clock.0.store(ahead, Ordering::Relaxed);
            (self.is_known, self.lower) = (true, 0);
        }
    }
}

/// Moves a time.
pub(crate) fn moved(time_ms: u64, by_ms: i64) -> u64 {
    time_ms.saturating_add_signed(by_ms)
}

/// Moves the times in orders.
pub(crate) fn move_orders(orders: &mut [Order], by_ms: i64) {
    if by_ms == 0 {
        return;
    }
    for (_, step) in orders.iter_mut().flat_map(|order| &mut order.steps) {
        let StoreOperation::Change(change) = step else { continue };
        if let DatabaseChange::Put { expiry, .. }
        | DatabaseChange::Expire { expiry, .. }
        | DatabaseChange::Touch(_, expiry) = change
            && let Expiry::At(time_ms) = expiry
            // 0 is the past for every clock.
            && *time_ms > 0
        {
            *time_ms = moved(*time_ms, by_ms);
        }
    }
}

/// Moves the times in the result of an order.
pub(crate) fn move_result(executed: &mut Executed, by_ms: i64) {
    if let Executed::Done(outcomes) = executed
        && by_ms != 0
    {
        for outcome in outcomes {
            move_outcome(outcome, by_ms);
        }
    }
}

/// Moves the times in an outcome.
pub(crate) fn move_outcome(outcome: &mut StepOutcome, by_ms: i64) {
    let of_entry = |entry: &mut StoredEntry| {
        entry.expiry_ms = entry.expiry_ms.map(|time_ms| moved(time_ms, by_ms));
    };
    match outcome {
        StepOutcome::Value(entry) | StepOutcome::Put(_, entry) => {
            entry.iter_mut().for_each(of_entry);
        }
        StepOutcome::Values(entries) => entries.iter_mut().flatten().for_each(of_entry),
        StepOutcome::Remaining(Remaining::Until(time_ms)) => *time_ms = moved(*time_ms, by_ms),
        StepOutcome::Page(page) => {
            page.keys.iter_mut().filter_map(|(_, entry)| entry.as_mut()).for_each(of_entry);
        }
        StepOutcome::Remaining(Remaining::Missing | Remaining::Endless)
        | StepOutcome::Made(_)
        | StepOutcome::Number(_)
        | StepOutcome::Kind(_)
        | StepOutcome::Misuse(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_believed_until_its_messages_say_otherwise_for_long() {
        let (clock, mut watch) = (LeaderClock::default(), ClockWatch::default());
        let mut after = |leader_ms, own_ms| {
            watch.note(&clock, leader_ms, own_ms);
            clock.ahead()
        };
        assert_eq!(after(10_000, 10_900), 0, "clocks that are almost the same are the same");
        assert_eq!(after(10_000, 13_000), 0, "the message was late");
        assert_eq!(after(3_610_000, 10_000), 3_600_000);
        assert_eq!(after(3_610_500, 10_000), 3_600_000);
        for _ in 1..CLOCK_MESSAGES {
            assert_eq!(after(10_000, 10_000), 3_600_000);
        }
        assert_eq!(after(10_000, 10_000), 0, "somebody has set it");
        assert_eq!(after(10_000, 3_610_000), 0);
    }
}
