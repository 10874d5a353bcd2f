//! One Lua stack: operations that cannot raise ([`Stack`]), and those that can ([`Inside`]).
//!
//! Owns the wrapping of single calls. Never keeps a Lua value beyond its stack slot.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Deref;
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

/// The chunk of native functions.
pub(in crate::engine) const NATIVE: &str = "=[C]";

/// The line that LuaJIT reports for its own functions written in Lua (`table.move`); they count as native, too.
const BUILT_IN: c_int = -1;

/// One level of a traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct TracePoint {
    /// The name under which the chunk was loaded.
    pub(in crate::engine) chunk: String,
    /// The line; 0 in native functions.
    pub(in crate::engine) line: u32,
    /// The name by which it was called, if Lua knows it.
    pub(in crate::engine) function: String,
}

/// A Lua stack.
///
/// Invariant: the state is open, and an anchor in the registry keeps the coroutine alive; the holder of a
/// `Stack` (a [`Lua`](super::Lua), a [`Coroutine`](super::Coroutine)) ensures that.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Stack(NonNull<lua_State>);

impl Stack {
    /// Wraps a state.
    ///
    /// # Safety
    /// The caller vouches for the invariant of the type.
    pub(super) unsafe fn of(state: NonNull<lua_State>) -> Self {
        Self(state)
    }

    pub(super) fn state(self) -> *mut lua_State {
        self.0.as_ptr()
    }

    /// The number of values on it.
    pub(in crate::engine) fn count(self) -> i32 {
        // SAFETY: the state is open (invariant of the type).
        unsafe { api::lua_gettop(self.state()) }
    }

    /// Drops values until `count` are left.
    pub(in crate::engine) fn truncate(self, count: i32) {
        // SAFETY: the state is open; lowering the top needs no room.
        unsafe { api::lua_settop(self.state(), count) }
    }

    /// Makes room for `count` more values. Returns whether it succeeded.
    pub(super) fn has_room(self, count: c_int) -> bool {
        // SAFETY: the state is open; this call reports failure by its result and raises nothing.
        unsafe { api::lua_checkstack(self.state(), count) != 0 }
    }

    /// The kind of value at `index`.
    pub(super) fn type_at(self, index: i32) -> Type {
        // SAFETY: the state is open; any index is allowed.
        match unsafe { api::lua_type(self.state(), index) } {
            api::LUA_TNONE | api::LUA_TNIL => Type::Nil,
            api::LUA_TBOOLEAN => Type::Boolean,
            api::LUA_TNUMBER => Type::Number,
            api::LUA_TSTRING => Type::String,
            api::LUA_TTABLE => Type::Table,
            api::LUA_TFUNCTION => Type::Function,
            _ => Type::Other,
        }
    }

    /// The name of the kind of value at `index`.
    pub(in crate::engine) fn type_name_at(self, index: i32) -> &'static str {
        // SAFETY: the state is open; any index is allowed.
        let kind = unsafe { api::lua_type(self.state(), index) };
        // SAFETY: the number is a type's; the answer is a constant of the library.
        let name = unsafe { api::lua_typename(self.state(), kind) };
        // SAFETY: a constant C string that lives as long as the program.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("value")
    }

    /// Whether there is a function at `index`.
    pub(in crate::engine) fn is_function_at(self, index: i32) -> bool {
        self.type_at(index) == Type::Function
    }

    /// The number at `index`; 0 if it is not a number.
    pub(in crate::engine) fn number_at(self, index: i32) -> f64 {
        // SAFETY: the state is open; the conversion of a string allocates nothing.
        unsafe { api::lua_tonumber(self.state(), index) }
    }

    /// The bytes of the string at `index`; `None` for a number (converting it would allocate).
    ///
    /// They are lent from the slot: removing the value from the stack ends the loan, so copy them first.
    pub(in crate::engine) fn bytes_at(&self, index: i32) -> Option<&[u8]> {
        if self.type_at(index) != Type::String {
            return None;
        }
        let mut length = 0;
        // SAFETY: the state is open, the value is a string, so nothing is converted.
        let start = unsafe { api::lua_tolstring(self.state(), index, &raw mut length) };
        // SAFETY: the string lies at `start` with that length, and lives while it is on the stack.
        Some(unsafe { slice::from_raw_parts(start.cast(), length) })
    }

    /// The bytes described by a pointer and a length on the stack, from `buffer:ref()`.
    ///
    /// Invariant: only the library pushes such a pair, and the buffer is not changed until the coroutine continues.
    pub(in crate::engine) fn lent_bytes_at(&self, index: i32) -> &[u8] {
        // SAFETY: the state is open; for cdata the answer is the address of its content.
        let cell = unsafe { api::lua_topointer(self.state(), index) };
        let length = self.number_at(index + 1) as usize;
        if cell.is_null() || length == 0 {
            return &[];
        }
        // SAFETY: the cdata holds one pointer (`uint8_t *`).
        let start = unsafe { cell.cast::<*const u8>().read_unaligned() };
        // SAFETY: the buffer has `length` readable bytes from there (invariant above).
        unsafe { slice::from_raw_parts(start, length) }
    }

    /// Moves the `count` topmost values to another stack of the same state, which has room for them.
    pub(super) fn move_to(self, other: Self, count: c_int) {
        // SAFETY: both belong to one state; the caller made room.
        unsafe { api::lua_xmove(self.state(), other.state(), count) }
    }

    pub(super) fn push_number(self, number: f64) {
        // SAFETY: the caller made room; numbers need no memory.
        unsafe { api::lua_pushnumber(self.state(), number) }
    }

    pub(super) fn push_nil(self) {
        // SAFETY: the caller made room.
        unsafe { api::lua_pushnil(self.state()) }
    }

    /// Exchanges the two topmost values.
    pub(super) fn swap(self) {
        // SAFETY: there are two values.
        unsafe { api::lua_insert(self.state(), -2) }
    }

    /// Pushes the registry's value with this number.
    pub(super) fn push_registered(self, reference: c_int) {
        // SAFETY: the caller made room; a raw look-up neither allocates nor raises.
        unsafe { api::lua_rawgeti_(self.state(), api::LUA_REGISTRYINDEX, reference) }
    }

    /// Replaces the topmost value, a key, by the value of that key in the table at `table`.
    pub(super) fn get_raw(self, table: c_int) {
        // SAFETY: the value at `table` is a table; a raw look-up neither allocates nor raises.
        unsafe { api::lua_rawget_(self.state(), table) }
    }

    /// Moves the topmost value into the first slot of the table at `table`, which has room for it.
    pub(super) fn set_first(self, table: c_int) {
        // SAFETY: the value at `table` is a table with an array of that length, so nothing is allocated.
        unsafe { api::lua_rawseti_(self.state(), table, 1) }
    }

    /// Runs the coroutine with the `count` topmost values.
    pub(super) fn resume(self, count: c_int) -> Status {
        // SAFETY: the coroutine is alive and not running; a resume is a protected call.
        match unsafe { api::lua_resume_(self.state(), count) } {
            api::LUA_OK => Status::Returned,
            api::LUA_YIELD => Status::Yielded,
            api::LUA_ERRMEM => Status::OutOfMemory,
            _ => Status::Raised,
        }
    }

    /// The number of levels of the call stack.
    pub(in crate::engine) fn depth(self) -> i32 {
        let (mut there, mut beyond) = (-1, 1);
        while self.has_level(beyond) {
            (there, beyond) = (beyond, beyond.saturating_mul(2));
        }
        while beyond - there > 1 {
            let middle = there + (beyond - there) / 2;
            if self.has_level(middle) { there = middle } else { beyond = middle }
        }
        beyond
    }

    fn has_level(self, level: i32) -> bool {
        let mut record = MaybeUninit::<api::lua_Debug>::zeroed();
        // SAFETY: the record is large enough; the call fills in which level it is, or nothing.
        unsafe { api::lua_getstack(self.state(), level, record.as_mut_ptr()) != 0 }
    }

    /// A level of the call stack, 0 being the innermost; `None` beyond the outermost.
    pub(in crate::engine) fn trace_point(self, level: i32) -> Option<TracePoint> {
        let mut record = MaybeUninit::<api::lua_Debug>::zeroed();
        // SAFETY: the record is large enough; the call fills in which level it is.
        if unsafe { api::lua_getstack(self.state(), level, record.as_mut_ptr()) } == 0 {
            return None;
        }
        // SAFETY: the record names a level; these three letters push nothing and allocate nothing.
        unsafe { api::lua_getinfo(self.state(), c"Sln".as_ptr(), record.as_mut_ptr()) };
        // SAFETY: zeroed at first, and filled by the two calls; all its fields are valid as zeros.
        let record = unsafe { record.assume_init() };
        let chunk = if record.source.is_null() {
            String::new()
        } else if record.linedefined == BUILT_IN {
            NATIVE.to_owned()
        } else {
            // SAFETY: a C string that lives as long as the function on the stack.
            unsafe { CStr::from_ptr(record.source) }.to_string_lossy().into_owned()
        };
        let function = if record.name.is_null() {
            String::new()
        } else {
            // SAFETY: as above.
            unsafe { CStr::from_ptr(record.name) }.to_string_lossy().into_owned()
        };
        Some(TracePoint { chunk, line: u32::try_from(record.currentline).unwrap_or(0), function })
    }
}

/// A stack on which a raised error is caught by a caller.
///
/// Invariant: created only in protected calls and native functions. A raised error unwinds the Rust frames in
/// between and drops their values; nothing is caught there.
#[derive(Clone, Copy)]
pub(super) struct Inside(Stack);

impl Deref for Inside {
    type Target = Stack;

    fn deref(&self) -> &Stack {
        &self.0
    }
}

impl Inside {
    /// Wraps the stack of a native function or a protected call.
    ///
    /// # Safety
    /// Lua calls the caller with this state.
    pub(super) unsafe fn of(state: NonNull<lua_State>) -> Self {
        // SAFETY: who calls is open, and keeps the coroutine alive that does.
        Self(unsafe { Stack::of(state) })
    }

    /// Makes room for `count` values or raises.
    pub(super) fn reserve(self, count: c_int) {
        // SAFETY: the state is open, and there is a protected caller.
        unsafe { api::luaL_checkstack_(self.state(), count, c"too many values".as_ptr()) }
    }

    pub(super) fn push_bytes(self, bytes: &[u8]) {
        // SAFETY: the range is readable; Lua copies it; there is a protected caller.
        unsafe { api::lua_pushlstring_(self.state(), bytes.as_ptr().cast(), bytes.len()) }
    }

    pub(super) fn push_function(self, function: api::lua_CFunction) {
        self.close_over(function, 0);
    }

    /// Pushes a native function with the `count` topmost values as its upvalues, in their place.
    pub(super) fn close_over(self, function: api::lua_CFunction, count: c_int) {
        // SAFETY: they are there, and native functions of this module keep to the rules of the interface.
        unsafe { api::lua_pushcclosure(self.state(), function, count) }
    }

    pub(super) fn push_pointer(self, pointer: *mut c_void) {
        // SAFETY: Lua only keeps the address.
        unsafe { api::lua_pushlightuserdata(self.state(), pointer) }
    }

    pub(super) fn push_table(self, array: c_int, fields: c_int) {
        // SAFETY: there is a protected caller.
        unsafe { api::lua_createtable(self.state(), array, fields) }
    }

    /// Moves the topmost value into a field of the table at `table`.
    pub(super) fn set_field(self, table: c_int, name: &CStr) {
        // SAFETY: the tables set here are new ones without metatables.
        unsafe { api::lua_setfield(self.state(), table, name.as_ptr()) }
    }

    /// Makes the table at `table` the environment of the function on top.
    pub(super) fn set_environment(self, table: c_int) {
        // SAFETY: the value at `table` is a table, the topmost a function.
        unsafe { api::lua_pushvalue(self.state(), table) };
        // SAFETY: as above; the call takes the table off the stack.
        unsafe { api::lua_setfenv(self.state(), -2) };
    }

    /// Makes the table on top the globals of chunks without an environment, and of coroutines created from now on.
    pub(super) fn set_globals(self) {
        // SAFETY: the topmost value is a table, which the call takes off the stack.
        unsafe { api::lua_replace(self.state(), api::LUA_GLOBALSINDEX) };
    }

    /// Moves the two topmost values, key and value, into the table at `table`.
    pub(super) fn set_raw(self, table: c_int) {
        // SAFETY: the value at `table` is a table.
        unsafe { api::lua_rawset(self.state(), table) }
    }

    /// Moves the topmost value into the registry and returns its number.
    pub(super) fn register(self) -> c_int {
        // SAFETY: there is a value on the stack and a protected caller.
        unsafe { api::luaL_ref(self.state(), api::LUA_REGISTRYINDEX) }
    }

    /// Releases the registry's value with this number.
    pub(super) fn unregister(self, reference: c_int) {
        // SAFETY: the number came from `register` and is given back once.
        unsafe { api::luaL_unref(self.state(), api::LUA_REGISTRYINDEX, reference) }
    }

    /// Pushes a new coroutine.
    pub(super) fn push_coroutine(self) -> Stack {
        // SAFETY: there is a protected caller.
        let state = unsafe { api::lua_newthread(self.state()) };
        let state = NonNull::new(state).expect("a coroutine is made or an error raised");
        // SAFETY: it is on this stack, which anchors it until the caller has.
        unsafe { Stack::of(state) }
    }

    /// Pushes a copy of the value at `index`.
    pub(super) fn push_copy(self, index: c_int) {
        // SAFETY: the index names a value; room was reserved.
        unsafe { api::lua_pushvalue(self.state(), index) }
    }

    /// Pushes a field of the table at `table`.
    pub(super) fn push_field(self, table: c_int, name: &CStr) {
        // SAFETY: there is a protected caller.
        unsafe { api::lua_getfield_(self.state(), table, name.as_ptr()) }
    }

    /// Raises the topmost value.
    pub(super) fn raise_top(self) {
        // SAFETY: there is a value and a protected caller.
        unsafe { api::lua_error(self.state()) }
    }

    /// Pushes a userdata object without content.
    pub(super) fn push_object(self) {
        // SAFETY: there is a protected caller.
        unsafe { api::lua_newuserdata(self.state(), 0) };
    }

    /// Makes the topmost value the metatable of the one at `index`.
    pub(super) fn set_metatable(self, index: c_int) {
        // SAFETY: both are there, and a metatable is a table.
        unsafe { api::lua_setmetatable(self.state(), index) };
    }

    /// Calls the function below the `arguments` topmost values.
    pub(super) fn call(self, arguments: c_int, results: c_int) {
        // SAFETY: function and arguments are on the stack; errors go to the protected caller.
        unsafe { api::lua_call(self.state(), arguments, results) }
    }
}
