//! One Lua stack: operations that cannot raise.
//!
//! Owns the wrapping of single calls. Each checks what LuaJIT requires, and a mistake of ours is a
//! panic. Never keeps a Lua value beyond its slot.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::slice;

use mlua_sys as api;
use mlua_sys::lua_State;

/// The kinds of values that are distinguished here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Nothing there, or nil.
    Nil,
    /// A boolean.
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// A table.
    Table,
    /// A function.
    Function,
    /// A value of a C type.
    Data,
    /// Anything else.
    Other,
}

/// How a resumed coroutine came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Returned,
    Yielded,
    Raised,
    OutOfMemory,
}

/// A Lua stack.
///
/// Invariant: the state is open, and something keeps the coroutine alive, as long as this or a copy is used.
#[derive(Clone, Copy)]
pub(super) struct Slots(NonNull<lua_State>);

impl Slots {
    /// Wraps a state.
    ///
    /// # Safety
    /// The caller guarantees the invariant of the type.
    pub(super) unsafe fn of(state: NonNull<lua_State>) -> Self {
        Self(state)
    }

    pub(super) fn state(self) -> *mut lua_State {
        self.0.as_ptr()
    }

    /// The number of values on it.
    pub(super) fn count(self) -> c_int {
        // SAFETY: the state is open (invariant of the type).
        unsafe { api::lua_gettop(self.state()) }
    }

    /// Drops values until no more than `count` are left.
    pub(super) fn truncate(self, count: c_int) {
        if (0..self.count()).contains(&count) {
            // SAFETY: the state is open, and lowers its top.
            unsafe { api::lua_settop(self.state(), count) }
        }
    }

    /// Drops the topmost values.
    pub(super) fn drop_top(self, count: c_int) {
        self.truncate(self.count().saturating_sub(count).max(0));
    }

    /// Makes room for `count` more values. Returns whether it succeeded.
    pub(super) fn has_room(self, count: c_int) -> bool {
        // SAFETY: the state is open; this call reports failure by its result and raises nothing.
        unsafe { api::lua_checkstack(self.state(), count) != 0 }
    }

    fn require_room(self, count: c_int) {
        assert!(self.has_room(count), "room for {count} values was made before");
    }

    /// Checks that there are so many values.
    pub(super) fn require(self, count: c_int) {
        assert!((0..=self.count()).contains(&count), "there are {count} values");
    }

    /// Checks that there is a value of this kind.
    pub(super) fn require_type(self, index: c_int, kind: Type) {
        assert!(self.type_at(index) == kind, "there is a {kind:?} at {index}");
    }

    /// Whether there is a value at `index`.
    pub(super) fn has_value_at(self, index: c_int) -> bool {
        index != 0 && index.checked_abs().is_some_and(|number| number <= self.count())
    }

    /// The kind of value at `index`.
    pub(super) fn type_at(self, index: c_int) -> Type {
        if !self.has_value_at(index) {
            return Type::Nil;
        }
        // SAFETY: the state is open, and there is a value.
        match unsafe { api::lua_type(self.state(), index) } {
            api::LUA_TNONE | api::LUA_TNIL => Type::Nil,
            api::LUA_TBOOLEAN => Type::Boolean,
            api::LUA_TNUMBER => Type::Number,
            api::LUA_TSTRING => Type::String,
            api::LUA_TTABLE => Type::Table,
            api::LUA_TFUNCTION => Type::Function,
            api::LUA_TCDATA => Type::Data,
            _ => Type::Other,
        }
    }

    /// The number at `index`; 0 if it is not a number.
    pub(super) fn number_at(self, index: c_int) -> f64 {
        if !self.has_value_at(index) {
            return 0.0;
        }
        // SAFETY: the state is open, and there is a value; the conversion of a string allocates nothing.
        unsafe { api::lua_tonumber(self.state(), index) }
    }

    /// The bytes of the string at `index`; `None` for a number (converting it would allocate).
    ///
    /// # Safety
    /// The value stays in its slot, or alive otherwise, as long as the bytes are used.
    pub(super) unsafe fn bytes_at<'lua>(self, index: c_int) -> Option<&'lua [u8]> {
        if self.type_at(index) != Type::String {
            return None;
        }
        let mut length = 0;
        // SAFETY: the state is open, the value is a string, so nothing is converted.
        let start = unsafe { api::lua_tolstring(self.state(), index, &raw mut length) };
        // SAFETY: the string lies at `start` with that length, and the caller guarantees that it lives.
        Some(unsafe { slice::from_raw_parts(start.cast(), length) })
    }

    /// Moves the `count` topmost values to another stack.
    ///
    /// # Safety
    /// Both belong to one state.
    pub(super) unsafe fn move_to(self, other: Self, count: c_int) {
        self.require(count);
        other.require_room(count);
        // SAFETY: the caller guarantees that they belong to one state; the values are there, and room for them.
        unsafe { api::lua_xmove(self.state(), other.state(), count) }
    }

    pub(super) fn push_number(self, number: f64) {
        self.require_room(1);
        // SAFETY: there is room; numbers need no memory.
        unsafe { api::lua_pushnumber(self.state(), number) }
    }

    pub(super) fn push_nil(self) {
        self.require_room(1);
        // SAFETY: there is room.
        unsafe { api::lua_pushnil(self.state()) }
    }

    /// Exchanges the two topmost values.
    pub(super) fn swap(self) {
        self.require(2);
        // SAFETY: there are two values.
        unsafe { api::lua_insert(self.state(), -2) }
    }

    /// Pushes the registry's value with this number.
    pub(super) fn push_registered(self, reference: c_int) {
        self.require_room(1);
        // SAFETY: there is room; a raw look-up neither allocates nor raises.
        unsafe { api::lua_rawgeti_(self.state(), api::LUA_REGISTRYINDEX, reference) }
    }

    /// Replaces the topmost value, a key, by the value of that key in the table at `table`.
    pub(super) fn get_raw(self, table: c_int) {
        self.require_type(table, Type::Table);
        // SAFETY: there is a table, hence a value on top; a raw look-up neither allocates nor raises.
        unsafe { api::lua_rawget_(self.state(), table) }
    }

    /// Moves the topmost value into the first slot of the table at `table`.
    ///
    /// # Safety
    /// The table was made with that slot: without it, memory would be allocated, and an error raised where nothing
    /// catches it.
    pub(super) unsafe fn set_first(self, table: c_int) {
        self.require_type(table, Type::Table);
        // SAFETY: there is a table, hence a value on top, and the caller guarantees that it has the slot.
        unsafe { api::lua_rawseti_(self.state(), table, 1) }
    }

    /// Calls the function below the `arguments` topmost values for one result. Returns whether it returned; otherwise
    /// the result is what it raised.
    pub(super) fn call_caught(self, arguments: c_int) -> bool {
        self.require(arguments + 1);
        // SAFETY: function and arguments are on the stack, in whose place the result comes; the call is protected.
        unsafe { api::lua_pcall(self.state(), arguments, 1, 0) == api::LUA_OK }
    }

    /// Runs the coroutine with the `count` topmost values.
    pub(super) fn resume(self, count: c_int) -> Status {
        // SAFETY: the state is open.
        let begins = match unsafe { api::lua_status(self.state()) } {
            api::LUA_OK => true,
            api::LUA_YIELD => false,
            status => panic!("a coroutine that failed with {status} is not resumed"),
        };
        self.require(count);
        if begins {
            self.require_type(-count - 1, Type::Function);
        }
        // SAFETY: it has what it begins or continues with; a resume is a protected call.
        match unsafe { api::lua_resume_(self.state(), count) } {
            api::LUA_OK => Status::Returned,
            api::LUA_YIELD => Status::Yielded,
            api::LUA_ERRMEM => Status::OutOfMemory,
            _ => Status::Raised,
        }
    }
}
