//! A Lua stack while nothing changes it: values and call levels.
//!
//! Owns the loans of bytes, which last as long as the stack is not changed. Never changes it.

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

use mlua_sys as api;

use crate::engine::ffi::slots::{Slots, Type};

/// The chunk of native functions.
pub(in crate::engine) const NATIVE: &str = "=[C]";

/// The line that LuaJIT reports for its own functions written in Lua (`table.move`); they count as native, too.
const BUILT_IN: c_int = -1;

/// One level of a traceback. Plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct TracePoint {
    /// The name under which the chunk was loaded.
    pub(crate) chunk: String,
    /// The line; 0 in native functions.
    pub(crate) line: u32,
    /// The name by which it was called, if Lua knows it.
    pub(crate) function: String,
}

/// A Lua stack that keeps its values for this time.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Stack<'lua> {
    slots: Slots,
    keeps: PhantomData<&'lua ()>,
}

impl<'lua> Stack<'lua> {
    /// Wraps a stack.
    ///
    /// # Safety
    /// A value that is read of it stays in its slot for this time.
    pub(super) unsafe fn of(slots: Slots) -> Self {
        Self { slots, keeps: PhantomData }
    }

    /// The kind of value at `index`.
    pub(super) fn type_at(self, index: i32) -> Type {
        self.slots.type_at(index)
    }

    /// The name of the kind of value at `index`.
    pub(in crate::engine) fn type_name_at(self, index: i32) -> &'static str {
        if !self.slots.has_value_at(index) {
            return "value";
        }
        // SAFETY: the state is open, and there is a value.
        let kind = unsafe { api::lua_type(self.slots.state(), index) };
        // SAFETY: the number is a type's; the answer is a constant of the library.
        let name = unsafe { api::lua_typename(self.slots.state(), kind) };
        // SAFETY: a constant C string that lives as long as the program.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("value")
    }

    /// Whether there is a function at `index`.
    pub(in crate::engine) fn is_function_at(self, index: i32) -> bool {
        self.slots.type_at(index) == Type::Function
    }

    /// The number at `index`; 0 if it is not a number.
    pub(in crate::engine) fn number_at(self, index: i32) -> f64 {
        self.slots.number_at(index)
    }

    /// The bytes of the string at `index`; `None` for a number.
    pub(in crate::engine) fn bytes_at(self, index: i32) -> Option<&'lua [u8]> {
        // SAFETY: it stays in its slot (contract of `of`).
        unsafe { self.slots.bytes_at(index) }
    }

    /// The bytes described by a pointer and a length on the stack, from `buffer:ref()`.
    ///
    /// Invariant: the library pushes no other value of a C type where this is read, pages cannot, and the buffer
    /// changes only when the coroutine continues, which changes its stack.
    pub(in crate::engine) fn lent_bytes_at(self, index: i32) -> &'lua [u8] {
        let length = self.slots.number_at(index + 1) as usize;
        if self.slots.type_at(index) != Type::Data || length == 0 {
            return &[];
        }
        // SAFETY: the state is open; for a value of a C type the answer is the address of its content.
        let cell = unsafe { api::lua_topointer(self.slots.state(), index) };
        // SAFETY: it holds one pointer (`uint8_t *`; invariant above).
        let start = unsafe { cell.cast::<*const u8>().read_unaligned() };
        // SAFETY: the buffer has `length` readable bytes from there (invariant above).
        unsafe { slice::from_raw_parts(start, length) }
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
        unsafe { api::lua_getstack(self.slots.state(), level, record.as_mut_ptr()) != 0 }
    }

    /// A level of the call stack, 0 being the innermost; `None` beyond the outermost.
    pub(in crate::engine) fn trace_point(self, level: i32) -> Option<TracePoint> {
        let mut record = MaybeUninit::<api::lua_Debug>::zeroed();
        // SAFETY: the record is large enough; the call fills in which level it is.
        if unsafe { api::lua_getstack(self.slots.state(), level, record.as_mut_ptr()) } == 0 {
            return None;
        }
        // SAFETY: the record names a level; these three letters push nothing and allocate nothing.
        unsafe { api::lua_getinfo(self.slots.state(), c"Sln".as_ptr(), record.as_mut_ptr()) };
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
