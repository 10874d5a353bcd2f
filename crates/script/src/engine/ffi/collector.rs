//! LuaJIT's collector: one step, or a full collection, and the ends of its cycles.
//!
//! Owns how it is called. Never decides when.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::ffi::inside::Inside;

impl Inside {
    /// Collects all garbage.
    pub(super) fn collect(self) {
        // SAFETY: there is a protected caller.
        unsafe { api::lua_gc(self.state(), api::LUA_GCCOLLECT, 0) };
    }

    /// Sets how much work the collector does in the steps that allocations take.
    pub(super) fn set_collector_pace(self, percent: c_int) {
        // SAFETY: it sets a number of the collector; nothing is allocated.
        unsafe { api::lua_gc(self.state(), api::LUA_GCSETSTEPMUL, percent) };
    }

    /// Takes one step of the collector with this amount of work, whatever its debt. (`LUA_GCSTEP` continues until the
    /// debt is paid: many megabytes at once if large strings were made.)
    pub(super) fn collect_some(self, bytes: c_int) {
        let collect = |what, value| {
            // SAFETY: these three set a number of the collector; nothing is allocated.
            unsafe { api::lua_gc(self.state(), what, value) }
        };
        // A step is ten times the multiplier (lj_gc.c, lj_gc_step).
        let usual = collect(api::LUA_GCSETSTEPMUL, bytes / 10);
        collect(api::LUA_GCRESTART, 0);
        // A step is due now, and the next allocation takes it.
        self.push_table(0, 0);
        self.drop_top(1);
        collect(api::LUA_GCSETSTEPMUL, usual);
    }
}

/// The state of the collector's current cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cycle {
    /// Not watched.
    #[default]
    Unwatched,
    /// An object waits to be collected, at the end of its cycle.
    Watched,
    /// It was collected.
    Over,
}

/// Counts the cycles of the collector.
#[derive(Debug, Default)]
pub(super) struct Cycles(Cell<Cycle>);

impl Cycles {
    /// Leaves an object for the collector, which reports when it has collected it; nothing if one is there.
    ///
    /// # Safety
    /// This value outlives the state.
    pub(super) unsafe fn watch(&self, inside: Inside) {
        if self.0.replace(Cycle::Watched) == Cycle::Watched {
            return;
        }
        inside.push_object();
        inside.push_table(0, 1);
        inside.push_pointer(ptr::from_ref(&self.0).cast_mut().cast());
        // SAFETY: it takes any arguments, and the caller guarantees that its upvalue stays valid.
        unsafe { inside.close_over(on_cycle, 1) };
        inside.set_field(-2, c"__gc");
        inside.set_metatable(-2);
        inside.drop_top(1);
    }

    /// Whether a cycle has ended since one was last watched.
    pub(super) fn is_over(&self) -> bool {
        self.0.get() == Cycle::Over
    }
}

/// Called by the collector at the end of a cycle, with the object it has collected.
unsafe extern "C-unwind" fn on_cycle(state: *mut lua_State) -> c_int {
    // SAFETY: Lua called us: it has what `watch` gave along. The context cannot be asked for: at the end of a
    // state it is not its allocator's any more.
    let cycle = unsafe { api::lua_touserdata(state, api::lua_upvalueindex(1)) };
    // SAFETY: it is of the context, which outlives the state.
    unsafe { &*cycle.cast::<Cell<Cycle>>() }.set(Cycle::Over);
    0
}
