//! A state's memory as the engine sees it: how much there is, whose it is, and garbage collection.
//!
//! Owns the calls of Lua's collector. Never decides when to collect.

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::context::Memory;
use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::ledger::Ledger;
use crate::engine::ffi::lua::{Lua, ROOM};
use crate::limits;

impl Lua {
    pub(in crate::engine) fn memory(&self) -> &Memory {
        &self.context().memory
    }

    /// The owners of its memory.
    pub(in crate::engine) fn ledger(&self) -> &Ledger {
        self.memory().ledger()
    }

    /// A protected call of the engine that must not fail for lack of memory: no limit applies. Even beginning a call
    /// takes a few bytes, which then are garbage; if the collector could not begin, there would never be room again.
    pub(super) fn unbounded(&self, work: &mut dyn FnMut(Inside)) -> Result<(), Fault> {
        self.memory().unbounded(|| protected(self.main, work))
    }

    /// Collects garbage for a while. Returns whether that ended a cycle, and how many ticks it used.
    pub(in crate::engine) fn collect_some(&mut self) -> (bool, u32) {
        let (_, used) = self.ticker.watched(&self.context().watch, || {
            let collected = self.unbounded(&mut |inside| {
                inside.reserve(ROOM);
                // SAFETY: it is of the context, which is freed after the state.
                unsafe { self.context().cycles.watch(inside) };
                inside.collect_some(limits::COLLECTOR_STEP_BYTES);
            });
            debug_assert_eq!(collected, Ok(()), "nothing of it can fail");
        });
        if used.hooked {
            self.settle();
        }
        (self.context().cycles.is_over(), used.ticks)
    }

    /// Sets how much work the collector does, in percent of what is allocated meanwhile. Allocations pay for it.
    pub(in crate::engine) fn set_collector_pace(&mut self, percent: i32) {
        let set = self.unbounded(&mut |inside| inside.set_collector_pace(percent));
        debug_assert_eq!(set, Ok(()), "nothing of it can fail");
    }

    /// Collects all garbage at once.
    pub(in crate::engine) fn collect(&mut self) {
        let collected = self.unbounded(&mut |inside| inside.collect());
        debug_assert_eq!(collected, Ok(()), "nothing of it can fail");
    }
}
