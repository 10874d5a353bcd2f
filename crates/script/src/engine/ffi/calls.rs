//! Protected calls, for everything that can raise.
//!
//! Owns the bridge from a closure to Lua's protected call. Never lets a raised error pass. (A panic
//! inside would be an error of ours; Lua's unwinder turns it into a raised error, like any
//! exception it does not know.)

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::slots::Slots;
use crate::engine::ffi::stack::Stack;

/// Why a protected call did not complete.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Fault {
    /// The memory limit was reached.
    OutOfMemory,
    /// An error was raised, with this text.
    Raised(String),
}

/// The closure of a call. What it keeps for its caller lies outside, because an error ends it anywhere.
struct Action<'call> {
    work: &'call mut dyn FnMut(Inside),
}

/// Runs `work` where it may raise. Everything it leaves on the stack is dropped.
pub(super) fn protected(stack: Slots, work: &mut dyn FnMut(Inside)) -> Result<(), Fault> {
    let mut action = Action { work };
    let count = stack.count();
    // SAFETY: `enter` gets the address of `action`, which lives until the call is over.
    let status =
        unsafe { api::lua_cpcall(stack.state(), enter, (&raw mut action).cast::<c_void>()) };
    let result = match status {
        api::LUA_OK => Ok(()),
        api::LUA_ERRMEM => Err(Fault::OutOfMemory),
        _ => Err(Fault::Raised(text_of(stack))),
    };
    stack.truncate(count);
    result
}

/// The topmost value as text, if it is text.
fn text_of(slots: Slots) -> String {
    // SAFETY: nothing takes it off before this returns.
    let stack = unsafe { Stack::of(slots) };
    stack.bytes_at(-1).map_or_else(
        || format!("an error that is a {}", stack.type_name_at(-1)),
        |bytes| String::from_utf8_lossy(bytes).into_owned(),
    )
}

unsafe extern "C-unwind" fn enter(state: *mut lua_State) -> c_int {
    let Some(state) = NonNull::new(state) else { return 0 };
    // SAFETY: Lua calls us with it.
    let inside = unsafe { Inside::of(state) };
    // SAFETY: the one argument of this function is the address that `protected` passed.
    let action = unsafe { api::lua_touserdata(inside.state(), 1) }.cast::<Action<'_>>();
    // SAFETY: it is valid for the call, and nobody else uses it meanwhile.
    let action = unsafe { &mut *action };
    inside.truncate(0);
    (action.work)(inside);
    0
}
