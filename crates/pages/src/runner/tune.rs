//! Bounds of pages that change while they run.
//!
//! Owns that both engines get them.

use runtime::clock::nanoseconds;
use script::engine::EngineSettings;

use super::Runner;

impl Runner {
    /// From now on runs have the slice, CPU time and memory of these settings, and runs that begin have this deadline.
    /// The other settings remain those of the start.
    pub fn tune(&mut self, settings: &EngineSettings, deadline_ns: u64) {
        self.engines.tune(settings);
        self.turn.set_slice(nanoseconds(settings.slice));
        self.deadline_ns = deadline_ns;
    }
}
