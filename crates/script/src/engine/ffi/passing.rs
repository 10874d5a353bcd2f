//! Values pushed to a coroutine's stack, and taken from it.
//!
//! Owns the passing of values. Never runs a coroutine.

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::ledger::Meter;
use crate::engine::ffi::lua::{Coroutine, Lua, ROOM};
use crate::engine::ffi::reference::Reference;

impl Lua {
    /// Pushes a kept value on a coroutine's stack.
    pub(in crate::engine) fn pass(&mut self, coroutine: &Coroutine, reference: &Reference) {
        self.main.push_registered(reference.0);
        self.main.move_to(coroutine.stack, 1);
    }

    /// Pushes a number on a coroutine's stack.
    pub(in crate::engine) fn pass_number(&mut self, coroutine: &Coroutine, number: f64) {
        coroutine.stack.push_number(number);
    }

    /// Moves the topmost value from one coroutine's stack to another's.
    pub(in crate::engine) fn move_value(&mut self, from: &Coroutine, to: &Coroutine) {
        from.stack.move_to(to.stack, 1);
    }

    /// Pushes nil on a coroutine's stack.
    pub(in crate::engine) fn pass_nil(&mut self, coroutine: &Coroutine) {
        coroutine.stack.push_nil();
    }

    /// Pushes a text on the stack of a run's coroutine, charged to the run. Returns whether there was memory.
    pub(in crate::engine) fn pass_charged(
        &mut self,
        coroutine: &Coroutine,
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
        self.context().memory.begin(*meter);
        let done = work(self);
        *meter = self.context().memory.end();
        done
    }

    /// Pushes a text on a coroutine's stack. Returns whether there was memory.
    pub(in crate::engine) fn pass_bytes(&mut self, coroutine: &Coroutine, text: &[u8]) -> bool {
        protected(self.main, &mut |inside| {
            inside.reserve(1);
            inside.push_bytes(text);
            inside.move_to(coroutine.stack, 1);
        })
        .is_ok()
    }

    /// Keeps the topmost value of a coroutine's stack.
    pub(in crate::engine) fn keep(&mut self, coroutine: &Coroutine) -> Result<Reference, Fault> {
        let mut reference = None;
        protected(self.main, &mut |inside| {
            inside.reserve(1);
            coroutine.stack.move_to(*inside, 1);
            reference = Some(Reference(inside.register()));
        })?;
        reference.ok_or(Fault::OutOfMemory)
    }

    /// Makes room for the values that [`Lua::resume`] will pass. Returns whether it succeeded.
    pub(in crate::engine) fn has_room(&self, coroutine: &Coroutine) -> bool {
        coroutine.stack.has_room(ROOM)
    }
}
