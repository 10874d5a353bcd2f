//! Values pushed to a coroutine's stack, and taken from it.
//!
//! Owns the passing of values. Never runs a coroutine.

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::coroutine::Coroutine;
use crate::engine::ffi::ledger::Meter;
use crate::engine::ffi::lua::{Lua, ROOM};
use crate::engine::ffi::reference::Reference;

impl Lua {
    /// Pushes a kept value on a coroutine's stack.
    pub(in crate::engine) fn pass(&mut self, coroutine: &mut Coroutine, reference: &Reference) {
        coroutine.slots_in(&self.openness).push_registered(reference.0);
    }

    /// Pushes a number on a coroutine's stack.
    pub(in crate::engine) fn pass_number(&mut self, coroutine: &mut Coroutine, number: f64) {
        coroutine.slots_in(&self.openness).push_number(number);
    }

    /// Moves the topmost value from one coroutine's stack to another's.
    pub(in crate::engine) fn move_value(&mut self, from: &mut Coroutine, to: &mut Coroutine) {
        let [from, to] = [from, to].map(|coroutine| coroutine.slots_in(&self.openness));
        // SAFETY: both are of this state.
        unsafe { from.move_to(to, 1) };
    }

    /// Pushes nil on a coroutine's stack.
    pub(in crate::engine) fn pass_nil(&mut self, coroutine: &mut Coroutine) {
        coroutine.slots_in(&self.openness).push_nil();
    }

    /// Pushes a text on the stack of a run's coroutine, charged to the run. Returns whether there was memory.
    pub(in crate::engine) fn pass_charged(
        &mut self,
        coroutine: &mut Coroutine,
        text: &[u8],
        meter: &mut Meter,
    ) -> bool {
        self.charged(meter, |lua| lua.pass_bytes(coroutine, text))
    }

    /// Does work whose memory is charged to a run.
    pub(in crate::engine) fn charged<T>(
        &mut self,
        meter: &mut Meter,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.memory().begin(*meter);
        let done = work(self);
        *meter = self.memory().end();
        done
    }

    /// Pushes a text on a coroutine's stack. Returns whether there was memory.
    pub(in crate::engine) fn pass_bytes(&mut self, coroutine: &mut Coroutine, text: &[u8]) -> bool {
        let slots = coroutine.slots_in(&self.openness);
        protected(self.main, &mut |inside| {
            inside.push_bytes(text);
            // SAFETY: both are of this state.
            unsafe { inside.move_to(slots, 1) };
        })
        .is_ok()
    }

    /// Keeps the topmost value of a coroutine's stack.
    pub(in crate::engine) fn keep(
        &mut self,
        coroutine: &mut Coroutine,
    ) -> Result<Reference, Fault> {
        let slots = coroutine.slots_in(&self.openness);
        let mut reference = None;
        protected(self.main, &mut |inside| {
            inside.reserve(1);
            // SAFETY: both are of this state.
            unsafe { slots.move_to(*inside, 1) };
            reference = Some(Reference(inside.register()));
        })?;
        reference.ok_or(Fault::OutOfMemory)
    }

    /// Makes room for the values that [`Lua::resume`] will pass. Returns whether it succeeded.
    pub(in crate::engine) fn has_room(&self, coroutine: &Coroutine) -> bool {
        coroutine.slots_in(&self.openness).has_room(ROOM)
    }
}
