//! The start of every native function: the calling state, and the host of the run.
//!
//! Owns these two conversions. Never pushes anything.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use mlua_sys::lua_State;

use crate::engine::ffi::context::Context;
use crate::engine::ffi::stack::Inside;
use crate::engine::host::Host;

/// The state and the context in a function that Lua has called.
///
/// # Safety
/// Lua calls the caller with this state, which is one of ours.
pub(super) unsafe fn called_with<'call>(state: *mut lua_State) -> (Inside, &'call Context) {
    let stack = NonNull::new(state).expect("Lua calls with a state");
    // SAFETY: Lua calls the caller with it.
    let inside = unsafe { Inside::of(stack) };
    // SAFETY: it is one of ours, and open as long as what it calls.
    (inside, unsafe { Context::of(state) })
}

/// Calls the host of the run; `None` if there is none, or it panicked (the panic continues when the run has returned).
pub(super) fn with_host<T>(context: &Context, work: impl FnOnce(&mut dyn Host) -> T) -> Option<T> {
    let mut host = context.host.get()?;
    // SAFETY: the pointer is set for the time of a resume only, from a reference that lives longer, and a host cannot
    // come back here: it has no way to the state.
    let host = unsafe { host.as_mut() };
    match catch_unwind(AssertUnwindSafe(|| work(host))) {
        Ok(result) => Some(result),
        Err(panic) => {
            *context.panic.borrow_mut() = Some(panic);
            None
        }
    }
}
