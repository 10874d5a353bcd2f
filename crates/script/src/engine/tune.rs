//! Bounds of an engine that change while it runs.
//!
//! Owns which those are. Runs that are under way get them, too.

use std::time::Duration;

use super::state::EngineState;

impl EngineState {
    /// From now on a run may use this much CPU time, and hold this many bytes.
    pub fn tune(&mut self, cpu_budget: Duration, run_memory_bytes: usize) {
        let ticks = cpu_budget.as_nanos() / u128::from(self.tick_ns.max(1));
        self.ticks_max = u32::try_from(ticks).unwrap_or(u32::MAX);
        self.cpu_budget = cpu_budget;
        self.run_bound = run_memory_bytes as u64;
    }
}
