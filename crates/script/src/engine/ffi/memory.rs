//! A state's memory as the engine sees it: how much there is, whose it is, and the taking away of garbage.
//!
//! Owns the calls of Lua's collector. Never decides when to collect.

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::ledger::{AccountNumber, Meter};
use crate::engine::ffi::lua::Lua;
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

    /// A protected call of our own that must not fail for want of memory: it may use a little more than the bound.
    pub(super) fn with_reserve(&self, work: &mut dyn FnMut(Inside)) -> Result<(), Fault> {
        let memory = &self.context().memory;
        let bound = memory.bound();
        memory.set_bound(bound.saturating_add(limits::MEMORY_RESERVE));
        let result = protected(self.main, work);
        memory.set_bound(bound);
        result
    }

    /// Collects garbage for a while; whether that ended a cycle of the collector, and how many ticks it used.
    pub(in crate::engine) fn collect_some(&mut self) -> (bool, u32) {
        let mut is_cycle_over = false;
        let (_, used) = self.ticker.watched(&self.context().watch, || {
            // What finalizers may raise is dropped, as below.
            let _ = self.with_reserve(&mut |inside| {
                is_cycle_over = inside.collect_some(limits::COLLECTOR_STEP_KIB);
            });
        });
        if used.hooked {
            self.settle();
        }
        (is_cycle_over, used.ticks)
    }

    /// Collects all garbage at once.
    pub(in crate::engine) fn collect(&mut self) {
        // What finalizers may raise is dropped: the collection is as far as it came.
        let _ = self.with_reserve(&mut |inside| inside.collect());
    }
}
