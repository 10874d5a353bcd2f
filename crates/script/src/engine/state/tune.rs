//! Bounds of an engine that change while it runs.
//!
//! Owns which those are, and what they mean in nanoseconds. Runs that are under way get them, too.

use crate::engine::run::Run;
use crate::engine::settings::EngineSettings;
use crate::engine::state::EngineState;

impl EngineState {
    /// From now on the slice, the CPU time and the memory of these settings are in force. If less memory is allowed
    /// than is in use, what is in use stays until its owners end or are ended.
    pub fn tune(&mut self, settings: &EngineSettings) {
        self.lua.set_slice(settings.slice);
        // A slice is never too long.
        let uninterrupted = settings.uninterrupted.max(settings.slice * 2);
        self.uninterrupted_ns = u64::try_from(uninterrupted.as_nanos()).unwrap_or(u64::MAX);
        self.cpu_budget = settings.cpu_budget;
        self.run_bound = settings.run_memory_bytes as u64;
        self.lua.memory().set_whole(settings.memory_bytes);
    }

    /// The time that so many ticks stand for.
    pub(super) fn nanoseconds_of(&self, ticks: u32) -> u64 {
        u64::from(ticks).saturating_mul(self.lua.tick_ns())
    }

    /// Whether a run has used more CPU time than it may.
    pub(super) fn is_out_of_time(&self, run: &Run) -> bool {
        u128::from(run.spent_ns()) > self.cpu_budget.as_nanos()
    }
}
