//! The start of every native function: the calling state, its arguments, the host of the run; and
//! the way back of what the host answered.
//!
//! Owns these conversions. Never holds a cell while it pushes: a push may raise.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use mlua_sys::lua_State;

use crate::engine::ffi::context::Context;
use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::stack::Stack;
use crate::engine::host::{HostAnswer, PageHost};

/// The arguments and results of a function that Lua called.
pub(super) struct Called<'call> {
    pub(super) inside: Inside,
    pub(super) arguments: Stack<'call>,
    pub(super) context: &'call Context,
}

/// The stack, the arguments and the context in a function that Lua has called.
///
/// # Safety
/// Lua calls the caller with this state, which is one of ours. The caller uses them only until it returns, and leaves
/// its arguments in their slots.
pub(super) unsafe fn called_with<'call>(state: *mut lua_State) -> Called<'call> {
    let stack = NonNull::new(state).expect("Lua calls with a state");
    // SAFETY: Lua calls the caller with it.
    let inside = unsafe { Inside::of(stack) };
    // SAFETY: the caller guarantees that the arguments stay.
    let arguments = unsafe { Stack::of(*inside) };
    // SAFETY: it is one of ours, and open as long as what it calls.
    let context = unsafe { Context::of(state) };
    Called { inside, arguments, context }
}

/// Calls the host of the run; `None` if there is none, or it panicked (the panic continues when the run has returned).
pub(super) fn with_host<T>(
    context: &Context,
    work: impl FnOnce(&mut dyn PageHost) -> T,
) -> Option<T> {
    // Taken, so that there is no second reference to it meanwhile.
    let mut part = context.host.take()?;
    // SAFETY: the pointer is set for the time of a resume only, from a reference that lives longer, and is nowhere else
    // now.
    let host = unsafe { part.as_mut() };
    let result = catch_unwind(AssertUnwindSafe(|| work(host)));
    context.host.set(Some(part));
    match result {
        Ok(result) => Some(result),
        Err(panic) => {
            *context.panic.borrow_mut() = Some(panic);
            None
        }
    }
}

/// Pushes bytes of the host's last answer.
pub(super) fn push_answered(
    inside: Inside,
    context: &Context,
    part: impl FnOnce(&HostAnswer) -> &[u8],
) {
    let bytes: *const [u8] = part(&context.answer.borrow());
    // SAFETY: they lie in the context or are constant. The answer changes only in native functions, and none runs while
    // Lua copies the bytes.
    inside.push_bytes(unsafe { &*bytes });
}
