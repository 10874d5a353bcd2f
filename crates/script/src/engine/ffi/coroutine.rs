//! A coroutine of a state, and what keeps it alive.
//!
//! Owns the rights to read and to change its stack: a loan of bytes borrows the coroutine, and
//! whatever changes its stack takes it mutably. Never runs it.

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

use crate::engine::ffi::reference::Reference;
use crate::engine::ffi::slots::Slots;
use crate::engine::ffi::stack::Stack;

/// Whether a state is open. Its address identifies the state.
pub(super) type Openness = Rc<Cell<bool>>;

/// A coroutine. Release it with [`Lua::drop_coroutine`](super::Lua::drop_coroutine).
pub(in crate::engine) struct Coroutine {
    /// Invariant: of the state of `openness`, and kept alive by `reference` as long as that is open.
    slots: Slots,
    reference: Reference,
    openness: Openness,
}

impl Coroutine {
    /// Wraps a coroutine.
    ///
    /// # Safety
    /// The registry of the state with this openness holds it under this number until it is released, which takes this
    /// value.
    pub(super) unsafe fn of(slots: Slots, reference: Reference, openness: &Openness) -> Self {
        Self { slots, reference, openness: Rc::clone(openness) }
    }

    /// Its stack, to be read.
    pub(in crate::engine) fn stack(&self) -> Stack<'_> {
        assert!(self.openness.get(), "the state of a coroutine is open");
        // SAFETY: it is alive, and whatever changes its stack takes it mutably, which ends this loan.
        unsafe { Stack::of(self.slots) }
    }

    /// Drops values until no more than `count` are left.
    pub(in crate::engine) fn truncate(&mut self, count: c_int) {
        assert!(self.openness.get(), "the state of a coroutine is open");
        self.slots.truncate(count);
    }

    /// The reference that keeps it alive.
    pub(super) fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Its stack, to be changed by the state that it belongs to.
    pub(super) fn slots_in(&self, openness: &Openness) -> Slots {
        assert!(Rc::ptr_eq(&self.openness, openness), "a coroutine belongs to this state");
        self.slots
    }
}
