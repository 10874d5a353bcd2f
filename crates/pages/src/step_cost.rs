//! The cost of a step of a page process outside of Lua, which is charged to the process.
//!
//! Owns that price, the same for all processes of one scheduler: the CPU time that its thread used
//! outside of Lua, divided by the steps meanwhile. Never reads a clock: the caller does when a
//! reading is due.

use crate::limits::{
    PAGE_STEP_NS, STEP_COST_LOOK_STEPS, STEP_COST_MAX_NS, STEP_COST_MIN_NS, STEP_COST_SPAN_NS,
};

/// The price of a step.
#[derive(Debug)]
pub(super) struct StepCost {
    price_ns: u64,
    /// Steps since the price was computed.
    steps: u64,
    /// The number of steps at which the clock is read next.
    look_at: u64,
    /// The time that the thread and Lua had used when the price was computed; `None` at first.
    before: Option<(u64, u64)>,
}

impl StepCost {
    pub(super) fn new() -> Self {
        Self { price_ns: PAGE_STEP_NS, steps: 0, look_at: 0, before: None }
    }

    /// Counts a step.
    pub(super) fn count(&mut self) {
        self.steps += 1;
    }

    /// Whether the clock should be read.
    pub(super) fn is_look_due(&self) -> bool {
        self.steps >= self.look_at
    }

    /// Takes the CPU time that the thread has used since it began, and what Lua has used of it.
    pub(super) fn look(&mut self, thread_ns: u64, lua_ns: u64) {
        self.look_at = self.steps + STEP_COST_LOOK_STEPS;
        if let Some((thread_before, lua_before)) = self.before {
            let used_ns = thread_ns.saturating_sub(thread_before);
            if used_ns < STEP_COST_SPAN_NS {
                return;
            }
            let besides_ns = used_ns.saturating_sub(lua_ns.saturating_sub(lua_before));
            self.price_ns =
                (besides_ns / self.steps.max(1)).clamp(STEP_COST_MIN_NS, STEP_COST_MAX_NS);
        }
        self.before = Some((thread_ns, lua_ns));
        (self.steps, self.look_at) = (0, STEP_COST_LOOK_STEPS);
    }

    /// The current price of a step.
    pub(super) fn price_ns(&self) -> u64 {
        self.price_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(step_cost: &mut StepCost, count: u64) {
        (0..count).for_each(|_| step_cost.count());
    }

    #[test]
    fn a_step_costs_what_the_thread_used_besides_lua() {
        let mut step_cost = StepCost::new();
        assert!(step_cost.is_look_due());
        step_cost.look(7 * STEP_COST_SPAN_NS, 3);
        assert_eq!(step_cost.price_ns(), PAGE_STEP_NS, "nothing is known yet");
        let count = 2 * STEP_COST_SPAN_NS / 5_000;
        steps(&mut step_cost, count);
        // A third of it was Lua.
        step_cost.look(10 * STEP_COST_SPAN_NS, 3 + STEP_COST_SPAN_NS);
        assert_eq!(step_cost.price_ns(), 5_000);
    }

    #[test]
    fn the_clock_is_read_seldom_and_little_says_nothing() {
        let mut step_cost = StepCost::new();
        step_cost.look(0, 0);
        steps(&mut step_cost, STEP_COST_LOOK_STEPS - 1);
        assert!(!step_cost.is_look_due());
        step_cost.count();
        assert!(step_cost.is_look_due());
        step_cost.look(STEP_COST_SPAN_NS - 1, 0);
        assert_eq!(step_cost.price_ns(), PAGE_STEP_NS);
        assert!(!step_cost.is_look_due());
        steps(&mut step_cost, STEP_COST_LOOK_STEPS);
        assert!(step_cost.is_look_due());
        // The steps before count, too.
        step_cost.look(STEP_COST_SPAN_NS, 0);
        assert_eq!(
            step_cost.price_ns(),
            (STEP_COST_SPAN_NS / (2 * STEP_COST_LOOK_STEPS)).min(STEP_COST_MAX_NS)
        );
    }

    #[test]
    fn step_cost_includes_work_caused_by_others_up_to_bound() {
        for (thread_ns, lua_ns, price_ns) in [
            (1_000 * STEP_COST_SPAN_NS, 0, STEP_COST_MAX_NS),
            (STEP_COST_SPAN_NS, 2 * STEP_COST_SPAN_NS, STEP_COST_MIN_NS),
        ] {
            let mut step_cost = StepCost::new();
            step_cost.look(0, 0);
            steps(&mut step_cost, STEP_COST_LOOK_STEPS);
            step_cost.look(thread_ns, lua_ns);
            assert_eq!(step_cost.price_ns(), price_ns);
        }
    }
}
