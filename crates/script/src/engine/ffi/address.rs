//! Memory that the library passes to C functions by address.
//!
//! Owns the conversion from addresses and numbers to bytes. Never knows what they are for.

use std::slice;

/// A piece of a text.
///
/// # Safety
/// From `start` on there are `offset` and `length` bytes, which nobody writes to or frees during the call.
pub(super) unsafe fn piece<'call>(start: *const u8, offset: u32, length: u32) -> &'call [u8] {
    let (offset, length) = (offset as usize, length as usize);
    // SAFETY: the caller vouches for it.
    let text = unsafe { slice::from_raw_parts(start, offset + length) };
    text.get(offset..).unwrap_or_default()
}

/// A place to write to.
///
/// # Safety
/// From `start` on there are so many bytes, which have been written once, and nobody else uses them during the call.
pub(super) unsafe fn place_of<'call>(start: *mut u8, room: usize) -> &'call mut [u8] {
    // SAFETY: the caller vouches for it.
    unsafe { slice::from_raw_parts_mut(start, room) }
}
