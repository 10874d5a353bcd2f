//! The time that Redis clients use in one turn.
//!
//! Owns which clients go on in the next turn because the time of this one is used up. Commands whose
//! work a client chooses (many pipelined ones, a scan with a costly pattern) then delay others by one
//! slice and not by all of it. Never runs a command.

use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;

use crate::limits::{RESP_STEPS_PER_LOOK, RESP_TURN_TICKS};
use crate::message::Message;

/// The time that the Redis clients of a scheduler have used in this turn.
#[derive(Debug)]
pub(crate) struct RespPace {
    ticks: fn() -> u64,
    /// Ticks of earlier runs in this turn.
    used: u64,
    /// When the current run was first looked at. A run of a single command never is, because reading the clock would cost more than it tells.
    begun: Option<u64>,
    resting: Vec<ProcessId>,
}

impl Default for RespPace {
    fn default() -> Self {
        Self::by(sys::clock::tick_counter)
    }
}

impl RespPace {
    fn by(ticks: fn() -> u64) -> Self {
        Self { ticks, used: 0, begun: None, resting: Vec::new() }
    }

    /// Whether the time of this turn is used up.
    pub(crate) fn is_over(&mut self) -> bool {
        let now = (self.ticks)();
        let begun = *self.begun.get_or_insert(now);
        self.used + now.saturating_sub(begun) >= RESP_TURN_TICKS
    }

    /// Whether it is used up, after so many steps that looking costs little beside them. Takes the steps that it has looked after.
    pub(crate) fn is_over_after(&mut self, steps: &mut usize) -> bool {
        if *steps < RESP_STEPS_PER_LOOK {
            return false;
        }
        *steps = 0;
        self.is_over()
    }

    /// A client's run has ended.
    pub(crate) fn end_run(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.used += (self.ticks)().saturating_sub(begun);
        }
    }

    /// The client goes on in the next turn: once, even if it was run several times in this one.
    pub(crate) fn rest(&mut self, process: ProcessId) {
        if !self.resting.contains(&process) {
            self.resting.push(process);
        }
    }

    /// Ends the turn, and resumes in the next one the clients that rest.
    pub(crate) fn end_turn(&mut self, context: &mut ServiceContext<'_, Message>) {
        self.used = 0;
        for process in self.resting.drain(..) {
            context.command(Command::Resume(process));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    fn pass(ticks: u64) {
        NOW.set(NOW.get() + ticks);
    }

    #[test]
    fn the_clients_of_a_scheduler_share_the_time_of_a_turn() {
        let mut pace = RespPace::by(|| NOW.get());
        assert!(!pace.is_over());
        pass(RESP_TURN_TICKS - 1);
        assert!(!pace.is_over());
        pace.end_run();
        // What passes between two runs is the time of others.
        pass(RESP_TURN_TICKS);
        assert!(!pace.is_over());
        pass(1);
        assert!(pace.is_over());
        pace.end_run();
        assert!(pace.is_over());
    }
}
