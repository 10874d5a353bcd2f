//! The native functions behind `crypto`, called through LuaJIT's FFI like those for escaping.
//!
//! Owns the conversion: parts of Lua strings are passed as addresses, and results go to buffers
//! that the library allocated. Nothing is allocated and nothing raises, so nothing leaks when a
//! page is ended between two pieces.

use std::ffi::{CStr, c_void};

use crate::engine::crypto::{self, Encoding, HASH_SIZE, Hasher};
use crate::engine::ffi::address::{piece, place_of};

/// The functions, by their names in the library. Their types are in crypto.lua.
pub(super) fn pointers() -> [(&'static CStr, *mut c_void); 8] {
    let hasher_size: extern "C" fn() -> u32 = hasher_size;
    let hash_begin: unsafe extern "C" fn(*mut u8) = hash_begin;
    let hmac_begin: unsafe extern "C" fn(*mut u8, *const u8, u32) = hmac_begin;
    let hash_update: unsafe extern "C" fn(*mut u8, *const u8, u32, u32) = hash_update;
    let hash_finish: unsafe extern "C" fn(*mut u8, *mut u8) = hash_finish;
    let equal: unsafe extern "C" fn(*const u8, *const u8, u32, u32) -> u32 = equal;
    let code: unsafe extern "C" fn(u32, *const u8, u32, u32, *mut u8) -> i32 = code;
    let random: unsafe extern "C" fn(*mut u8, u32) -> u32 = random;
    [
        (c"crypto_hasher_size", hasher_size as *mut c_void),
        (c"crypto_hash_begin", hash_begin as *mut c_void),
        (c"crypto_hmac_begin", hmac_begin as *mut c_void),
        (c"crypto_hash_update", hash_update as *mut c_void),
        (c"crypto_hash_finish", hash_finish as *mut c_void),
        (c"crypto_equal", equal as *mut c_void),
        (c"crypto_code", code as *mut c_void),
        (c"crypto_random", random as *mut c_void),
    ]
}

/// Writes a hasher to its place.
///
/// # Safety
/// The library made the place with the size that `hasher_size` tells.
unsafe fn put_hasher(place: *mut u8, hasher: Hasher) {
    // SAFETY: there is room for it.
    unsafe { place.cast::<Hasher>().write_unaligned(hasher) }
}

/// Moves a hasher out. When a page is ended its hasher stays in place: it has nothing to free but its bytes.
///
/// # Safety
/// One was put there, and was not moved out since.
unsafe fn take_hasher(place: *mut u8) -> Hasher {
    // SAFETY: there is one, and it is nobody else's.
    unsafe { place.cast::<Hasher>().read_unaligned() }
}

/// Bytes of a place for a hasher.
extern "C" fn hasher_size() -> u32 {
    size_of::<Hasher>() as u32
}

/// Begins SHA-256.
unsafe extern "C" fn hash_begin(place: *mut u8) {
    // SAFETY: the library made the place for this.
    unsafe { put_hasher(place, Hasher::plain()) };
}

/// Begins HMAC-SHA-256.
unsafe extern "C" fn hmac_begin(place: *mut u8, key: *const u8, length: u32) {
    // SAFETY: the library passes a string that is on its stack, and a part of it.
    let key = unsafe { piece(key, 0, length) };
    // SAFETY: the library made the place for this.
    unsafe { put_hasher(place, Hasher::keyed(key)) };
}

/// Adds a text to either.
unsafe extern "C" fn hash_update(place: *mut u8, text: *const u8, offset: u32, length: u32) {
    // SAFETY: the library made a place with a hasher, which only these functions move.
    let mut hasher = unsafe { take_hasher(place) };
    // SAFETY: the library passes a string that is on its stack, and a part of it.
    hasher.update(unsafe { piece(text, offset, length) });
    // SAFETY: it was there before.
    unsafe { put_hasher(place, hasher) };
}

/// Ends either; the result goes to a place of 32 bytes.
unsafe extern "C" fn hash_finish(place: *mut u8, result: *mut u8) {
    // SAFETY: the library made a place with a hasher, which only these functions move.
    let hash = unsafe { take_hasher(place) }.finish();
    // SAFETY: the library made a place of that many bytes.
    unsafe { place_of(result, HASH_SIZE) }.copy_from_slice(&hash);
}

/// Whether two pieces are equal: 1 or 0.
unsafe extern "C" fn equal(one: *const u8, other: *const u8, offset: u32, length: u32) -> u32 {
    // SAFETY: the library passes two strings of one length that are on its stack, and a part of both.
    let one = unsafe { piece(one, offset, length) };
    // SAFETY: as above.
    let other = unsafe { piece(other, offset, length) };
    crypto::is_equal(one, other).into()
}

/// Encodes or decodes a piece: the number of an encoding, plus 16 for decoding. Returns the number of bytes written;
/// for invalid text the negative position (from 1).
unsafe extern "C" fn code(
    way: u32,
    text: *const u8,
    offset: u32,
    length: u32,
    place: *mut u8,
) -> i32 {
    // SAFETY: the library passes a string that is on its stack, and a part of it.
    let text = unsafe { piece(text, offset, length) };
    let Some(encoding) = Encoding::ALL.get((way & 15) as usize) else { return 0 };
    let (is_decoded, size) = (way & 16 != 0, text.len());
    let room =
        if is_decoded { Encoding::room_for_bytes(size) } else { Encoding::room_for_text(size) };
    // SAFETY: the library made a place of that many bytes.
    let place = unsafe { place_of(place, room) };
    let result =
        if is_decoded { encoding.decode(text, place) } else { Ok(encoding.encode(text, place)) };
    let number = |size: usize| i32::try_from(size).expect("a piece is small");
    match result {
        Ok(size) => number(size),
        Err(at) => -1 - number(at),
    }
}

/// Fills a place with random bytes: 1, or 0 if there are none.
unsafe extern "C" fn random(place: *mut u8, room: u32) -> u32 {
    // SAFETY: the library made a place of that many bytes.
    let place = unsafe { place_of(place, room as usize) };
    crypto::fill_with_random(place).into()
}
