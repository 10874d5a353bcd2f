//! The use of an engine by runs: time, memory, the compiler.
//!
//! Owns the numbers as they are reported. Never judges them.

use crate::engine::ffi::Traces;
use crate::engine::run::Run;
use crate::engine::state::EngineState;

/// The use by all calls of an engine since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineUsage {
    /// CPU time, sampled.
    pub cpu_ns: u64,
    /// Bytes that runs have allocated, most of which were freed.
    pub allocated_bytes: u64,
    /// Pieces of native code that the compiler made.
    pub traces: u64,
    /// Pieces that it could not make.
    pub traces_aborted: u64,
}

impl EngineUsage {
    /// The sum of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        self.each_with(other, |one, other| one + other)
    }

    /// The difference to an earlier reading.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.each_with(before, u64::saturating_sub)
    }

    fn each_with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cpu_ns: of(self.cpu_ns, other.cpu_ns),
            allocated_bytes: of(self.allocated_bytes, other.allocated_bytes),
            traces: of(self.traces, other.traces),
            traces_aborted: of(self.traces_aborted, other.traces_aborted),
        }
    }
}

impl EngineState {
    /// Bytes that Lua uses: pages, their code, and uncollected garbage.
    pub fn memory_used(&self) -> usize {
        self.lua.memory().used()
    }

    /// Bytes that Lua may use.
    pub fn memory_bound(&self) -> usize {
        self.lua.memory().whole()
    }

    /// The use by all calls together so far.
    pub fn usage(&self) -> EngineUsage {
        let Traces { made, aborted } = self.lua.traces();
        EngineUsage {
            cpu_ns: self.used_ns(),
            allocated_bytes: self.allocated,
            traces: made,
            traces_aborted: aborted,
        }
    }

    /// Bytes that the run of the last call held at its end: its allocations, less what was collected since. For small
    /// runs all their allocations count, up to [`UNWATCHED_SIZE`](crate::limits::UNWATCHED_SIZE).
    pub fn held_bytes(&self) -> u64 {
        self.held
    }

    /// The same for a suspended run.
    pub fn held_by(&self, run: &Run) -> u64 {
        run.held(&self.lua)
    }

    /// Nanoseconds of all calls so far. They are sampled in steps of half a slice, which is correct on average.
    pub fn used_ns(&self) -> u64 {
        self.used_ns
    }
}
