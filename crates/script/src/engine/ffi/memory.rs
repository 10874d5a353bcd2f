//! A state's memory as the engine sees it: how much there is, whose it is, and the taking away of garbage.
//!
//! Owns the calls of Lua's collector. Never decides when to collect.

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::collector::watch_cycle;
use crate::engine::ffi::context::Cycle;
use crate::engine::ffi::ledger::{AccountNumber, Meter};
use crate::engine::ffi::lua::{Lua, ROOM};
use crate::engine::ffi::stack::Inside;
use crate::limits;

impl Lua {
    /// Bytes that Lua has.
    pub(in crate::engine) fn memory_used(&self) -> usize {
        self.context().memory.used()
    }

    /// Bytes that Lua may have.
    pub(in crate::engine) fn memory_bound(&self) -> usize {
        self.context().memory.bound()
    }

    /// Bytes that the run of this meter holds, with those that nobody has collected yet.
    pub(in crate::engine) fn held(&self, meter: &Meter) -> u64 {
        self.context().memory.ledger.held(meter)
    }

    /// Follows what a run held no more: it is over.
    pub(in crate::engine) fn close_account(&mut self, account: AccountNumber) {
        self.context().memory.ledger.close(account);
    }

    /// A protected call of our own that must not fail for want of memory: no bound holds for it. Already to begin one takes
    /// some bytes, which are garbage then; where the collector could not begin, there would never be room again.
    pub(super) fn unbounded(&self, work: &mut dyn FnMut(Inside)) -> Result<(), Fault> {
        let memory = &self.context().memory;
        let bound = memory.bound();
        memory.set_bound(usize::MAX);
        let result = protected(self.main, work);
        memory.set_bound(bound);
        result
    }

    /// Collects garbage for a while; whether that ended a cycle of the collector, and how many ticks it used.
    pub(in crate::engine) fn collect_some(&mut self) -> (bool, u32) {
        let (_, used) = self.ticker.watched(&self.context().watch, || {
            let collected = self.unbounded(&mut |inside| {
                inside.reserve(ROOM);
                let cycle = &self.context().cycle;
                if cycle.get() != Cycle::Watched {
                    watch_cycle(inside, cycle);
                }
                inside.collect_some(limits::COLLECTOR_STEP_BYTES);
            });
            debug_assert_eq!(collected, Ok(()), "nothing of it can fail");
        });
        if used.hooked {
            self.settle();
        }
        (self.context().cycle.get() == Cycle::Over, used.ticks)
    }

    /// Collects all garbage at once.
    pub(in crate::engine) fn collect(&mut self) {
        let collected = self.unbounded(&mut |inside| inside.collect());
        debug_assert_eq!(collected, Ok(()), "nothing of it can fail");
    }
}
