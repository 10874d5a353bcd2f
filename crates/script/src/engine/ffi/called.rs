//! The start of every native function: the calling state, its arguments, and what it belongs to.

use std::ptr::NonNull;

use mlua_sys::lua_State;

use crate::engine::ffi::context::Context;
use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::stack::Stack;

/// The arguments and results of a function that Lua called. Plain data.
pub(super) struct Called<'call> {
    pub(crate) inside: Inside,
    pub(crate) arguments: Stack<'call>,
    pub(crate) context: &'call Context,
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
