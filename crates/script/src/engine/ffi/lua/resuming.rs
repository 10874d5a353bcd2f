//! The running of a coroutine, under the tick and with a host.
//!
//! Never knows what the values mean that the library's Lua code yields.

use crate::engine::ffi::coroutine::Coroutine;
use crate::engine::ffi::ledger::Meter;
use crate::engine::ffi::lua::Lua;
use crate::engine::ffi::slots::Status;
use crate::engine::host::PageHost;

/// How a resumed coroutine came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Resumed {
    /// It yielded values.
    Yielded,
    /// Its slice ended.
    Sliced,
    /// It ran too long without a point where it can be interrupted, and was stopped.
    Stalled,
    /// It is dead, with an error on its stack.
    Raised,
    /// It is dead, for lack of memory.
    OutOfMemory,
}

impl Lua {
    /// Runs a coroutine with the `count` topmost values of its stack, under the tick, with a host, and charges its
    /// allocations to a meter. Also returns how many ticks it used.
    pub(in crate::engine) fn resume(
        &mut self,
        coroutine: &mut Coroutine,
        count: i32,
        host: &mut dyn PageHost,
        meter: &mut Meter,
    ) -> (Resumed, u32) {
        let slots = coroutine.slots_in(&self.openness);
        let context = self.context();
        if let Some(places) = &self.places {
            places.tell(self.main, slots, coroutine.reference());
        }
        context.memory.begin(*meter);
        let (status, used) =
            context.host.lend(host, || self.ticker.watched(&context.watch, || slots.resume(count)));
        *meter = context.memory.end();
        if used.hooked {
            self.settle();
        }
        self.context().host.go_on_panicking();
        let outcome = match status {
            _ if used.stalled => Resumed::Stalled,
            Status::Yielded if slots.count() == 0 => Resumed::Sliced,
            Status::Yielded => Resumed::Yielded,
            Status::OutOfMemory => Resumed::OutOfMemory,
            // The body never returns, because it is a loop of the library.
            Status::Returned | Status::Raised => Resumed::Raised,
        };
        (outcome, used.ticks)
    }

    /// Brings the compiler to rest after a hook was set.
    ///
    /// Setting a hook while code is being recorded only marks the recording as aborted; the next dispatched instruction
    /// clears the mark. A coroutine that yielded from a hook continues after that dispatch, and would enter
    /// native code with the mark still set. So one Lua function is called in between.
    pub(super) fn settle(&self) {
        let called = self.unbounded(&mut |inside| {
            inside.push_registered(self.nothing.0);
            inside.call(0, 0);
        });
        debug_assert_eq!(called, Ok(()), "nothing of it can fail");
    }
}
