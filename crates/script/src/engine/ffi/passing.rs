//! Values pushed to a coroutine's stack, and taken from it.
//!
//! Owns the passing of values. Never runs a coroutine.

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::ledger::Meter;
use crate::engine::ffi::lua::{Coroutine, Lua, ROOM};
use crate::engine::ffi::reference::Reference;

impl Lua {
    /// Puts a kept value onto a coroutine's stack.
    pub(in crate::engine) fn pass(&mut self, coroutine: &Coroutine, reference: &Reference) {
        self.main.push_registered(reference.0);
        self.main.move_to(coroutine.stack, 1);
    }

    /// Puts a number onto a coroutine's stack.
    pub(in crate::engine) fn pass_number(&mut self, coroutine: &Coroutine, number: f64) {
        coroutine.stack.push_number(number);
    }

    /// Moves the topmost value of one coroutine's stack to another's.
    pub(in crate::engine) fn move_value(&mut self, from: &Coroutine, to: &Coroutine) {
        from.stack.move_to(to.stack, 1);
    }

    /// Puts nil onto a coroutine's stack.
    pub(in crate::engine) fn pass_nil(&mut self, coroutine: &Coroutine) {
        coroutine.stack.push_nil();
    }

    /// Puts a text onto the stack of a run's coroutine, at its expense; whether there was memory for it.
    pub(in crate::engine) fn pass_charged(
        &mut self,
        coroutine: &Coroutine,
        text: &[u8],
        meter: &mut Meter,
    ) -> bool {
        self.charged(meter, |lua| lua.pass_bytes(coroutine, text))
    }

    /// Does what takes memory at the expense of a run.
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

    /// Puts a text onto a coroutine's stack; whether there was memory for it.
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

    /// Makes room for what [`Lua::resume`] is to pass; whether it could.
    pub(in crate::engine) fn has_room(&self, coroutine: &Coroutine) -> bool {
        coroutine.stack.has_room(ROOM)
    }
}
