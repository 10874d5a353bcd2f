//! Determines what a run really holds.
//!
//! Owns who holds too much. Never runs a page.

use crate::engine::error::ScriptError;
use crate::engine::ffi::{Coroutine, Resumed};
use crate::engine::report;
use crate::engine::run::{Review, Run};
use crate::engine::state::EngineState;

impl EngineState {
    /// Collects garbage instead of continuing a run, at the run's expense, and decides when it is known what the run
    /// holds. Then the review ends, and the run returns as it did before.
    #[cold]
    pub(super) fn review(
        &mut self,
        run: &mut Run,
        review: Review,
    ) -> Result<(Coroutine, Resumed), Box<ScriptError>> {
        let coroutine = run.take_coroutine();
        let ticks = self.collect_step();
        self.use_ticks(run, ticks);
        self.held = run.held(&self.lua);
        let is_known = self.collection.has_ended(review.until);
        if self.held <= self.run_bound / 2 || is_known && self.held <= self.run_bound {
            // The next review comes only after it has allocated enough to be worthwhile.
            run.end_review(self.run_bound.max(self.held + self.run_bound / 2));
            return Ok((coroutine, review.outcome));
        }
        let error = if is_known {
            report::out_of_own_memory(run.page(), coroutine.stack(), self.run_bound)
        } else if self.is_out_of_time(run) {
            report::out_of_time(run.page(), coroutine.stack(), self.cpu_budget)
        } else {
            return Ok((coroutine, review.outcome));
        };
        self.lua.drop_coroutine(coroutine);
        Err(error)
    }

    pub(super) fn use_ticks(&mut self, run: &mut Run, ticks: u32) {
        let used_ns = self.nanoseconds_of(ticks);
        run.charge(used_ns);
        self.used_ns += used_ns;
    }
}
