//! Bodies that have to be JSON and are too long to be checked in one go.
//!
//! Owns how far each check has come, and whose turn is next. Never reads a body by itself: a request is asked again and
//! brings it.

use std::collections::VecDeque;

use ahash::HashMap;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use wire::json::{self, JsonCheck, JsonProblem};

use crate::limits::{JSON_PIECE_SIZE, JSON_PIECES_PER_TURN};

/// The checks of a scheduler that are not at their end.
#[derive(Debug, Default)]
pub(super) struct JsonChecks {
    under_way: HashMap<ProcessId, JsonCheck>,
    /// Requests that wait for a later turn, in the order in which they get it.
    waiting: VecDeque<ProcessId>,
    /// Pieces that were checked in this turn.
    pieces: usize,
}

impl JsonChecks {
    /// Checks the body of a request, which is the same each time until the request is forgotten; `None` if the request
    /// has to wait.
    pub(super) fn check(
        &mut self,
        process: ProcessId,
        body: &[u8],
    ) -> Option<Result<(), JsonProblem>> {
        if body.len() <= JSON_PIECE_SIZE {
            return Some(json::check(body).map(drop));
        }
        let check = self.under_way.entry(process).or_default();
        if self.pieces < JSON_PIECES_PER_TURN {
            self.pieces += 1;
            match check.go_on(body, JSON_PIECE_SIZE) {
                Ok(true) => return Some(Ok(())),
                Ok(false) => {}
                Err(problem) => return Some(Err(problem)),
            }
        }
        if !self.waiting.contains(&process) {
            self.waiting.push_back(process);
        }
        None
    }

    /// A request is answered, or has ended.
    pub(super) fn forget(&mut self, process: ProcessId) {
        if self.under_way.remove(&process).is_some() {
            self.waiting.retain(|waiting| *waiting != process);
        }
    }

    /// At the end of a turn: as many requests go on in the next as it has pieces.
    pub(super) fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for process in self.next_turn() {
            context.command(SchedulerCommand::Resume(process));
        }
    }

    fn next_turn(&mut self) -> impl Iterator<Item = ProcessId> {
        self.pieces = 0;
        let next = self.waiting.len().min(JSON_PIECES_PER_TURN);
        self.waiting.drain(..next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bodies_take_turns_and_short_ones_do_not_wait() {
        let long = [b"[1", b",1".repeat(JSON_PIECE_SIZE).as_slice(), b"]"].concat();
        let wrong = [&long[..], b"]"].concat();
        let short = b"[]";
        let requests: Vec<_> = (0..10_u64).map(ProcessId::from_bits).collect();
        let mut checks = JsonChecks::default();
        let (mut asked, mut results) = (requests.clone(), Vec::new());
        let mut turns = 0;
        while !asked.is_empty() {
            turns += 1;
            assert!(turns <= 10 * 3, "nobody waits for ever");
            for process in asked {
                let body = if process == requests[3] { &wrong } else { &long };
                results.extend(checks.check(process, body).map(|result| (process, result.is_ok())));
            }
            assert!(checks.pieces <= JSON_PIECES_PER_TURN);
            assert_eq!(checks.check(ProcessId::from_bits(99), short), Some(Ok(())));
            for (process, _) in &results {
                checks.forget(*process);
            }
            asked = checks.next_turn().collect();
        }
        assert!(turns >= 10 * 2 / JSON_PIECES_PER_TURN, "{turns} turns");
        let valid = |process: &ProcessId| (*process, *process != requests[3]);
        results.sort_unstable();
        assert_eq!(results, requests.iter().map(valid).collect::<Vec<_>>());
    }
}
