//! The look at what a run really holds, and the collection of garbage.
//!
//! Owns when garbage is collected beside what LuaJIT does by itself, what dropped handles left included, and who holds too
//! much. Never runs a page.

use crate::engine::error::ScriptError;
use crate::engine::ffi::{Coroutine, Meter, Outcome};
use crate::engine::report;
use crate::engine::run::{Review, Run};
use crate::engine::state::State;
use crate::limits;

/// Ends of cycles until all is free that was garbage: that of the one under way, which may have passed by some, and one more.
pub(super) const CYCLES: u32 = 2;

impl State {
    /// Collects garbage in the place of a run, at its expense, and judges it when what it holds is known. Then its review
    /// is over, and it comes back as it did before.
    #[cold]
    pub(super) fn review(
        &mut self,
        run: &mut Run,
        mut review: Review,
    ) -> Result<(Coroutine, Outcome), Box<ScriptError>> {
        let coroutine = run.coroutine.take().expect("a run has its coroutine between calls");
        let (is_cycle_over, ticks) = self.lua.collect_some();
        self.use_ticks(run, ticks);
        review.cycles -= u32::from(is_cycle_over);
        self.held = self.lua.held(&run.meter);
        let is_known = review.cycles == 0;
        if self.held <= self.run_bound / 2 || is_known && self.held <= self.run_bound {
            // The next one not before it has allocated enough to be worth it.
            run.review_above = self.run_bound.max(self.held + self.run_bound / 2);
            run.review = None;
            return Ok((coroutine, review.outcome));
        }
        let error = if is_known {
            report::out_of_own_memory(&run.name, coroutine.stack, self.run_bound)
        } else if run.ticks > self.ticks_max {
            report::out_of_time(&run.name, coroutine.stack, self.cpu_budget)
        } else {
            run.review = Some(review);
            return Ok((coroutine, review.outcome));
        };
        self.lua.drop_coroutine(coroutine);
        self.note_over();
        self.collect_if_due();
        Err(error)
    }

    pub(super) fn use_ticks(&mut self, run: &mut Run, ticks: u32) {
        run.ticks = run.ticks.saturating_add(ticks);
        self.ticks_used += u64::from(ticks);
    }

    /// Collects some garbage behind a run while there is little room left: a step for each run, so that none of them waits
    /// for a whole collection.
    pub(super) fn collect_if_due(&mut self) {
        let used = self.lua.memory_used();
        if self.cycles_due == 0 {
            if used <= self.collect_above {
                return;
            }
            self.cycles_due = CYCLES;
        }
        let bound = self.lua.memory_bound();
        if used > bound - bound / limits::COLLECTED_WHOLE_PART {
            // The next run may need what steps would free too late.
            self.collect();
            return;
        }
        self.collect_step();
    }

    /// There was no room for a run: what it left is collected in steps, as long as others have room meanwhile.
    pub(super) fn collect_soon(&mut self) {
        self.cycles_due = CYCLES;
        self.collect_if_due();
    }

    /// Up to where a run may fill the memory. Who has allocated much leaves some of it to those that have not, for the time that
    /// it takes to collect in steps what is garbage then.
    pub(super) fn bound_of(&self, meter: &Meter) -> usize {
        let bound = self.lua.memory_bound();
        match meter.allocated() > limits::UNWATCHED_SIZE {
            true => bound - bound / limits::SMALL_RUNS_PART,
            false => bound,
        }
    }

    fn collect_step(&mut self) {
        let (is_cycle_over, _) = self.lua.collect_some();
        self.cycles_due -= u32::from(is_cycle_over);
        if self.cycles_due == 0 {
            self.postpone_collection();
        }
    }

    /// A run is over. Where it held much, that is garbage now, and is collected before somebody needs the room.
    pub(super) fn note_over(&mut self) {
        let bound = self.lua.memory_bound();
        let held_much = self.held > (bound / limits::LEFT_BEHIND_PART) as u64;
        let is_short = self.lua.memory_used() > bound / limits::LEFT_BEHIND_USED_PART;
        if held_much && is_short && self.cycles_due == 0 {
            self.cycles_due = CYCLES;
        }
    }

    /// Does a step of what collection is due: for the end of a turn. Whether there is more to do.
    pub fn clear_away(&mut self) -> bool {
        if self.cycles_due > 0 {
            self.sweep();
            self.collect_step();
        }
        self.cycles_due > 0
    }

    /// Collects all garbage now, which takes time: for when there is nothing else to do.
    pub fn collect_garbage(&mut self) {
        self.sweep();
        self.collect();
    }

    /// Collects all garbage at once: where there is no room to go on.
    pub(super) fn collect(&mut self) {
        self.lua.collect();
        self.cycles_due = 0;
        self.postpone_collection();
    }

    /// The next collection is not due before half of what is left is used.
    fn postpone_collection(&mut self) {
        let (used, bound) = (self.lua.memory_used(), self.lua.memory_bound());
        let usual = bound - bound / limits::COLLECTED_PART;
        self.collect_above = usual.max(used + bound.saturating_sub(used) / 2);
    }

    /// Takes away what dropped handles left.
    pub(super) fn sweep(&mut self) {
        if self.bin.borrow().is_empty() {
            return;
        }
        let bin = self.bin.clone();
        let mut leftovers = bin.borrow_mut();
        for coroutine in leftovers.coroutines.drain(..) {
            self.lua.drop_coroutine(coroutine);
        }
        for reference in leftovers.references.drain(..) {
            self.lua.release(&reference);
        }
        for account in leftovers.accounts.drain(..) {
            self.lua.close_account(account);
        }
    }
}
