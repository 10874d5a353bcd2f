//! One Lua stack where a caller catches what is raised: operations that can raise.
//!
//! Owns the wrapping of single calls, as `slots` does. A raised error unwinds the Rust frames in
//! between, so their values must need no destructor: no guard of a cell, nothing allocated.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Deref;
use std::ptr::NonNull;

use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::ffi::slots::{Slots, Type};

/// A stack on which a raised error is caught by a caller.
///
/// Invariant: created only in protected calls and native functions.
#[derive(Clone, Copy)]
pub(super) struct Inside(Slots);

impl Deref for Inside {
    type Target = Slots;

    fn deref(&self) -> &Slots {
        &self.0
    }
}

impl Inside {
    /// Wraps the stack of a native function or a protected call.
    ///
    /// # Safety
    /// Lua calls the caller with this state, and this or a copy is used only until it returns.
    pub(super) unsafe fn of(state: NonNull<lua_State>) -> Self {
        // SAFETY: a state that calls is open, and the coroutine that calls is alive.
        Self(unsafe { Slots::of(state) })
    }

    /// Makes room for `count` values or raises.
    pub(super) fn reserve(self, count: c_int) {
        // SAFETY: the state is open, and there is a protected caller.
        unsafe { api::luaL_checkstack_(self.state(), count, c"too many values".as_ptr()) }
    }

    pub(super) fn push_bytes(self, bytes: &[u8]) {
        self.reserve(1);
        // SAFETY: the range is readable; Lua copies it; there is a protected caller.
        unsafe { api::lua_pushlstring_(self.state(), bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Pushes a native function.
    ///
    /// # Safety
    /// As for [`close_over`](Self::close_over).
    pub(super) unsafe fn push_function(self, function: api::lua_CFunction) {
        // SAFETY: the caller guarantees it.
        unsafe { self.close_over(function, 0) }
    }

    /// Pushes a native function with the `count` topmost values as its upvalues, in their place.
    ///
    /// # Safety
    /// Lua may call the function with any arguments, as long as the state is open.
    pub(super) unsafe fn close_over(self, function: api::lua_CFunction, count: c_int) {
        self.require(count);
        self.reserve(1);
        // SAFETY: the values are there, and the caller guarantees that the function may be called.
        unsafe { api::lua_pushcclosure(self.state(), function, count) }
    }

    pub(super) fn push_pointer(self, pointer: *mut c_void) {
        self.reserve(1);
        // SAFETY: there is room; Lua only keeps the address.
        unsafe { api::lua_pushlightuserdata(self.state(), pointer) }
    }

    pub(super) fn push_table(self, array: c_int, fields: c_int) {
        self.reserve(1);
        // SAFETY: there is room and a protected caller.
        unsafe { api::lua_createtable(self.state(), array, fields) }
    }

    /// Moves the topmost value into a field of the table at `table`.
    pub(super) fn set_field(self, table: c_int, name: &CStr) {
        self.require_type(table, Type::Table);
        self.reserve(1);
        // SAFETY: there is a table, hence a value on top.
        unsafe { api::lua_setfield(self.state(), table, name.as_ptr()) }
    }

    /// Makes the table at `table` the environment of the function on top.
    pub(super) fn set_environment(self, table: c_int) {
        self.require_type(table, Type::Table);
        self.require_type(-1, Type::Function);
        self.push_copy(table);
        // SAFETY: a table lies on a function; the call takes the table off the stack.
        unsafe { api::lua_setfenv(self.state(), -2) };
    }

    /// Makes the table on top the globals of chunks without an environment, and of coroutines created from now on.
    pub(super) fn set_globals(self) {
        self.require_type(-1, Type::Table);
        // SAFETY: the topmost value is a table, which the call takes off the stack.
        unsafe { api::lua_replace(self.state(), api::LUA_GLOBALSINDEX) };
    }

    /// Moves the two topmost values, key and value, into the table at `table`.
    pub(super) fn set_raw(self, table: c_int) {
        self.require(3);
        self.require_type(table, Type::Table);
        // SAFETY: there is a table, and two more values.
        unsafe { api::lua_rawset(self.state(), table) }
    }

    /// Moves the topmost value into the registry and returns its number.
    pub(super) fn register(self) -> c_int {
        self.require(1);
        self.reserve(2);
        // SAFETY: there is a value on the stack and a protected caller.
        unsafe { api::luaL_ref(self.state(), api::LUA_REGISTRYINDEX) }
    }

    /// Releases the registry's value with this number.
    pub(super) fn unregister(self, reference: c_int) {
        self.reserve(1);
        // SAFETY: there is room and a protected caller; any number is taken.
        unsafe { api::luaL_unref(self.state(), api::LUA_REGISTRYINDEX, reference) }
    }

    /// Pushes a new coroutine.
    ///
    /// # Safety
    /// Something keeps the coroutine alive as long as its stack is used: first this stack.
    pub(super) unsafe fn push_coroutine(self) -> Slots {
        self.reserve(1);
        // SAFETY: there is room and a protected caller.
        let state = unsafe { api::lua_newthread(self.state()) };
        let state = NonNull::new(state).expect("a coroutine is made or an error raised");
        // SAFETY: the state is open, and the caller guarantees that the coroutine lives.
        unsafe { Slots::of(state) }
    }

    /// Pushes a copy of the value at `index`.
    pub(super) fn push_copy(self, index: c_int) {
        assert!(self.has_value_at(index), "there is a value at {index}");
        self.reserve(1);
        // SAFETY: there is a value, and room.
        unsafe { api::lua_pushvalue(self.state(), index) }
    }

    /// Pushes a field of the table at `table`.
    pub(super) fn push_field(self, table: c_int, name: &CStr) {
        assert!(self.has_value_at(table), "there is a value at {table}");
        self.reserve(1);
        // SAFETY: there is a value, and a protected caller if it is not a table.
        unsafe { api::lua_getfield_(self.state(), table, name.as_ptr()) }
    }

    /// Raises the topmost value.
    pub(super) fn raise_top(self) -> ! {
        self.require(1);
        // SAFETY: there is a value and a protected caller.
        unsafe { api::lua_error(self.state()) }
    }

    /// Raises an error with a constant text, without a place in front.
    pub(super) fn raise(self, text: &'static str) -> ! {
        self.push_bytes(text.as_bytes());
        self.raise_top()
    }

    /// Pushes a userdata object without content.
    pub(super) fn push_object(self) {
        self.reserve(1);
        // SAFETY: there is room and a protected caller.
        unsafe { api::lua_newuserdata(self.state(), 0) };
    }

    /// Makes the topmost value, a table, the metatable of the one at `index`.
    pub(super) fn set_metatable(self, index: c_int) {
        self.require_type(-1, Type::Table);
        assert!(self.has_value_at(index), "there is a value at {index}");
        // SAFETY: both are there.
        unsafe { api::lua_setmetatable(self.state(), index) };
    }

    /// Calls the function below the `arguments` topmost values.
    pub(super) fn call(self, arguments: c_int, results: c_int) {
        self.require(arguments + 1);
        self.reserve(results);
        // SAFETY: function and arguments are on the stack, with room for the results; errors go to the protected
        // caller.
        unsafe { api::lua_call(self.state(), arguments, results) }
    }
}
