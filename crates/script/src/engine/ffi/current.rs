//! The current run, as the library sees it: a slot of a table, which native code reads like any
//! other. (`coroutine.running` would make it leave native code.)
//!
//! Owns the setting of the slot when another run continues. Never creates its content: run.lua
//! does.

use crate::engine::ffi::coroutine::Coroutine;
use crate::engine::ffi::lua::Lua;
use crate::engine::ffi::reference::{Places, Reference};

impl Lua {
    /// Keeps the slot of `current` up to date from now on. All three values are the library's (run.lua).
    pub(in crate::engine) fn follow_runs(&mut self, [contexts, current, leave]: [Reference; 3]) {
        self.places = Some(Places { contexts, current, leave });
    }

    /// Sets the slot to this run, which continues now. A run that begins has no content yet, and sets the slot itself.
    pub(super) fn tell_current(&self, coroutine: &Coroutine) {
        let Some(places) = &self.places else { return };
        let state = coroutine.slots_in(&self.openness).state();
        if self.context().current.replace(state) == state {
            return;
        }
        let main = self.main;
        let count = main.count();
        main.push_registered(places.current.0);
        main.push_registered(places.contexts.0);
        main.push_registered(coroutine.reference.0);
        main.get_raw(-2);
        // SAFETY: run.lua made it with its slot.
        unsafe { main.set_first(-3) };
        main.truncate(count);
    }
}
