//! The current run, as the library sees it: a slot of a table, which native code reads like any
//! other. (`coroutine.running` would make it leave native code.)
//!
//! Owns the setting of the slot when another run continues. Never creates its content: run.lua
//! does.

use std::cell::Cell;
use std::ptr;

use mlua_sys::lua_State;

use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::lua::Lua;
use crate::engine::ffi::reference::Reference;
use crate::engine::ffi::slots::Slots;

/// The library's values about the current run.
pub(super) struct Places {
    /// The context of each run, by its coroutine.
    contexts: Reference,
    /// One slot: the context of the current run.
    current: Reference,
    /// The function that forgets a run, by its coroutine.
    leave: Reference,
    /// The coroutine that last continued; only its address matters.
    told: Cell<*mut lua_State>,
}

impl Places {
    /// Sets the slot to the run of this coroutine, which continues now. A run that begins has no content yet, and sets
    /// the slot itself.
    pub(super) fn tell(&self, main: Slots, coroutine: Slots, reference: &Reference) {
        if self.told.replace(coroutine.state()) == coroutine.state() {
            return;
        }
        let count = main.count();
        main.push_registered(self.current.0);
        main.push_registered(self.contexts.0);
        main.push_registered(reference.0);
        main.get_raw(-2);
        // SAFETY: run.lua made it with its slot.
        unsafe { main.set_first(-3) };
        main.truncate(count);
    }

    /// Forgets the run of a coroutine.
    pub(super) fn leave(&self, inside: Inside, reference: &Reference) {
        inside.push_registered(self.leave.0);
        inside.push_registered(reference.0);
        inside.call(1, 0);
    }
}

impl Lua {
    /// Keeps the slot of `current` up to date from now on. All three values are the library's (run.lua).
    pub(in crate::engine) fn follow_runs(&mut self, [contexts, current, leave]: [Reference; 3]) {
        self.places = Some(Places { contexts, current, leave, told: Cell::new(ptr::null_mut()) });
    }
}
