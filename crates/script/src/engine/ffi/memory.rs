//! A state's memory as the engine sees it: how much there is, whose it is, and garbage collection.
//!
//! Owns the calls of Lua's collector. Never decides when to collect.

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::collector::watch_cycle;
use crate::engine::ffi::context::Cycle;
use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::ledger::{AccountNumber, Meter};
use crate::engine::ffi::lua::{Lua, ROOM};
use crate::limits;

impl Lua {
    /// Bytes that Lua uses.
    pub(in crate::engine) fn memory_used(&self) -> usize {
        self.context().memory.used()
    }

    /// Bytes that Lua may use.
    pub(in crate::engine) fn memory_bound(&self) -> usize {
        self.context().memory.whole()
    }

    /// Sets the number of bytes that it may use. Existing allocations stay.
    pub(in crate::engine) fn set_memory_bound(&mut self, bytes: usize) {
        self.context().memory.set_whole(bytes);
    }

    /// Whether an allocation may fail without harm.
    pub(in crate::engine) fn can_refuse_memory(&self) -> bool {
        self.context().memory.knows_running()
    }

    /// Bytes that the run with this meter holds, including garbage that was not collected.
    pub(in crate::engine) fn held(&self, meter: &Meter) -> u64 {
        self.context().memory.ledger.held(meter)
    }

    /// An account for several runs.
    pub(in crate::engine) fn open_account(&mut self) -> AccountNumber {
        self.context().memory.ledger.open()
    }

    /// The meter of a run that shares an account.
    pub(in crate::engine) fn meter_of(&self, account: AccountNumber) -> Meter {
        Meter::of_account(account, self.context().memory.ledger.first_gap())
    }

    /// Bytes that the runs of an account hold, including garbage that was not collected.
    pub(in crate::engine) fn held_by(&self, account: AccountNumber) -> u64 {
        self.context().memory.ledger.held_by(account)
    }

    /// Stops following the memory of an account, whose runs have ended. Returns how much that was.
    pub(in crate::engine) fn close_account(&mut self, account: AccountNumber) -> u64 {
        self.context().memory.ledger.close(account)
    }

    /// Whether the last block that was refused was that of a table.
    pub(in crate::engine) fn was_table_refused(&self) -> bool {
        self.context().memory.was_table_refused()
    }

    /// A protected call of the engine that must not fail for lack of memory: no limit applies. Even beginning a call
    /// takes a few bytes, which then are garbage; if the collector could not begin, there would never be room again.
    pub(super) fn unbounded(&self, work: &mut dyn FnMut(Inside)) -> Result<(), Fault> {
        let memory = &self.context().memory;
        let bound = memory.bound();
        memory.set_bound(usize::MAX);
        let result = protected(self.main, work);
        memory.set_bound(bound);
        result
    }

    /// Collects garbage for a while. Returns whether that ended a cycle, and how many ticks it used.
    pub(in crate::engine) fn collect_some(&mut self) -> (bool, u32) {
        let (_, used) = self.ticker.watched(&self.context().watch, || {
            let collected = self.unbounded(&mut |inside| {
                inside.reserve(ROOM);
                let cycle = &self.context().cycle;
                if cycle.get() != Cycle::Watched {
                    // SAFETY: it is of the context, which is freed after the state.
                    unsafe { watch_cycle(inside, cycle) };
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

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use crate::engine::library::NoHost;
    use crate::engine::{EngineSettings, EngineState, Fault, Purpose};

    /// Bytes left for loading a page: from none to enough.
    const ROOMS: std::ops::Range<usize> = 0..16_384;

    /// Pages that are tried with each of these: small amounts that each leaves add up, unlike tables that grow.
    const PAGES: usize = 60;

    /// The memory left when a long text is loaded.
    const SCARCE: usize = 50_000;

    /// Works with no more memory than is in use, including garbage, plus this many bytes.
    fn with_left<T>(
        state: &mut EngineState,
        room: usize,
        work: impl FnOnce(&mut EngineState) -> T,
    ) -> T {
        let (used, bound) = (state.lua.memory_used(), state.lua.memory_bound());
        state.lua.set_memory_bound(used + room);
        let done = work(state);
        state.lua.set_memory_bound(bound);
        done
    }

    /// Leaves more garbage than any text takes here.
    fn waste(state: &mut EngineState) {
        let text = format!("return '{}'", "y".repeat(900_000));
        let chunk = state.lua.compile(c"waste", text.as_bytes(), &state.kept.environment);
        state.lua.release(&chunk.unwrap());
    }

    fn long_text(number: usize) -> String {
        format!("return function() return #'{number}{}' end", "z".repeat(200_000))
    }

    #[test]
    fn loading_may_use_room_of_garbage() {
        let mut state = EngineState::new(EngineSettings::default()).unwrap();
        for number in 0..4 {
            waste(&mut state);
            let page =
                with_left(&mut state, SCARCE, |state| state.load(0, "a", &long_text(number)));
            assert!(page.is_ok(), "{:?}", page.err());
            waste(&mut state);
            let provided = with_left(&mut state, SCARCE, |state| {
                state.provide("m", "m.lua", &long_text(number))
            });
            assert_eq!(provided, Ok(()));
            state.adopt_modules().unwrap();
            waste(&mut state);
            while let Some(coroutine) = state.idle.pop() {
                state.lua.drop_coroutine(coroutine);
            }
            let module = with_left(&mut state, 0, |state| {
                state.load_module("m", "m.lua", Purpose::Answers, &mut NoHost)
            });
            assert!(module.is_ok(), "{:?}", module.err());
        }
        let error =
            with_left(&mut state, 0, |state| state.load(0, "a", &long_text(9)).err().unwrap());
        assert_eq!(error.fault, Fault::Memory, "{error}");
    }

    #[test]
    fn code_of_unloaded_page_is_freed() {
        // Never closed: LuaJIT sometimes loses a few bytes when an allocation inside it fails, and then aborts when it
        // is closed.
        let mut state = ManuallyDrop::new(EngineState::new(EngineSettings::default()).unwrap());
        let _known = state.load(0, "a", "return function() end").unwrap();
        let mut refused = 0;
        for room in ROOMS.step_by(96) {
            state.collect_garbage();
            let before = state.lua.memory_used();
            for _ in 0..PAGES {
                while let Some(coroutine) = state.idle.pop() {
                    state.lua.drop_coroutine(coroutine);
                }
                state.collect_garbage();
                let load = |state: &mut EngineState| state.load(0, "a", "return function() end");
                let Err(error) = with_left(&mut state, room, load) else {
                    assert!(refused > 0, "it was never refused");
                    return;
                };
                assert_eq!(error.fault, Fault::Memory);
                refused += 1;
            }
            state.collect_garbage();
            let left = state.lua.memory_used().saturating_sub(before);
            assert!(
                left < 2 * PAGES * 64,
                "{left} bytes are left of {PAGES} pages with room for {room}"
            );
        }
        panic!("it was never loaded");
    }
}
