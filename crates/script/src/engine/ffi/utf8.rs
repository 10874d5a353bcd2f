//! The native functions that look at texts, called through LuaJIT's FFI like those for escaping.
//!
//! Owns the conversion. Nothing is allocated and nothing raises.

use std::ffi::{CStr, c_void};

use crate::engine::ffi::address::piece;
use crate::engine::utf8;

/// The functions, by their names in the library. Their types are in utf8.lua.
pub(super) fn pointers() -> [(&'static CStr, *mut c_void); 2] {
    let text_kind: unsafe extern "C" fn(*const u8, u32, u32) -> u32 = text_kind;
    let valid_length: unsafe extern "C" fn(*const u8, u32, u32) -> u32 = valid_length;
    [
        (c"utf8_text_kind", text_kind as *mut c_void),
        (c"utf8_valid_length", valid_length as *mut c_void),
    ]
}

/// How JSON has a piece of a text.
unsafe extern "C" fn text_kind(start: *const u8, offset: u32, length: u32) -> u32 {
    // SAFETY: the library passes a string that is on its stack, and a part of it.
    let piece = unsafe { piece(start, offset, length) };
    utf8::text_kind(piece) as u32
}

/// How many bytes at the start of a piece are UTF-8.
unsafe extern "C" fn valid_length(start: *const u8, offset: u32, length: u32) -> u32 {
    // SAFETY: the library passes a string that is on its stack, and a part of it.
    let piece = unsafe { piece(start, offset, length) };
    u32::try_from(utf8::valid_length(piece)).unwrap_or(u32::MAX)
}
