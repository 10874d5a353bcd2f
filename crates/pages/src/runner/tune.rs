//! Bounds of pages that change while they run.
//!
//! Owns that both engines get them.

use runtime::clock::nanoseconds;
use script::engine::Settings;

use super::Runner;

impl Runner {
    /// From now on runs have the CPU time and memory of these settings, and runs that begin have this deadline. The other
    /// settings remain those of the start.
    pub fn tune(&mut self, settings: &Settings, deadline_ns: u64) {
        self.engine.tune(settings.cpu_budget, settings.run_memory_bytes);
        self.process_engine.tune(settings.cpu_budget, settings.run_memory_bytes);
        self.cpu_budget_ns = nanoseconds(settings.cpu_budget);
        self.deadline_ns = deadline_ns;
    }
}
