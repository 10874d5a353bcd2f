//! The native functions behind `crypto`, called by LuaJIT's own foreign functions as those of escaping are.
//!
//! Owns the crossing: pieces of Lua strings come in as addresses, results go to places that the library made. Nothing is
//! allocated and nothing raises, so nothing is left behind when a page is ended between two pieces.

use std::ffi::{CStr, c_void};
use std::slice;

use crate::engine::crypto::{self, Encoding, HASH_SIZE, Hasher};

/// The functions, by the names that the library knows them by. Their types are in crypto.lua.
pub(super) fn pointers() -> [(&'static CStr, *mut c_void); 8] {
    let hasher_size: extern "C" fn() -> u32 = hasher_size;
    let hash_begin: extern "C" fn(*mut u8) = hash_begin;
    let hmac_begin: extern "C" fn(*mut u8, *const u8, u32) = hmac_begin;
    let hash_update: extern "C" fn(*mut u8, *const u8, u32, u32) = hash_update;
    let hash_finish: extern "C" fn(*mut u8, *mut u8) = hash_finish;
    let equal: extern "C" fn(*const u8, *const u8, u32, u32) -> u32 = equal;
    let code: extern "C" fn(u32, *const u8, u32, u32, *mut u8) -> i32 = code;
    let random: extern "C" fn(*mut u8, u32) -> u32 = random;
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

/// The bytes from `offset` on of a text that the library passed.
fn piece<'call>(start: *const u8, offset: u32, length: u32) -> &'call [u8] {
    let (offset, length) = (offset as usize, length as usize);
    // SAFETY: the library passes a string that is on its stack, and a part of it; strings never change.
    let text = unsafe { slice::from_raw_parts(start, offset + length) };
    &text[offset..]
}

/// A place of that many bytes which the library made for this call.
fn place_of<'call>(start: *mut u8, room: usize) -> &'call mut [u8] {
    // SAFETY: the library made it and nobody else has it. Its bytes are zeros at first.
    unsafe { slice::from_raw_parts_mut(start, room) }
}

fn put_hasher(place: *mut u8, hasher: Hasher) {
    // SAFETY: the library made the place with the size that `hasher_size` tells.
    unsafe { place.cast::<Hasher>().write_unaligned(hasher) }
}

/// Moves it out. The one of a page that is ended stays where it is: it has nothing but its bytes to give back.
fn take_hasher(place: *mut u8) -> Hasher {
    // SAFETY: one of the two `begin` functions put it there, only we move it, and no page can reach the place.
    unsafe { place.cast::<Hasher>().read_unaligned() }
}

/// Bytes of a place for a hash under way.
extern "C" fn hasher_size() -> u32 {
    size_of::<Hasher>() as u32
}

/// Begins SHA-256.
extern "C" fn hash_begin(place: *mut u8) {
    put_hasher(place, Hasher::plain());
}

/// Begins HMAC-SHA-256.
extern "C" fn hmac_begin(place: *mut u8, key: *const u8, length: u32) {
    put_hasher(place, Hasher::keyed(piece(key, 0, length)));
}

/// Goes on with either.
extern "C" fn hash_update(place: *mut u8, text: *const u8, offset: u32, length: u32) {
    let mut hasher = take_hasher(place);
    hasher.update(piece(text, offset, length));
    put_hasher(place, hasher);
}

/// Ends either; the result goes to a place of 32 bytes.
extern "C" fn hash_finish(place: *mut u8, result: *mut u8) {
    let hash = take_hasher(place).finish();
    place_of(result, HASH_SIZE).copy_from_slice(&hash);
}

/// Whether two pieces are the same: 1 or 0.
extern "C" fn equal(one: *const u8, other: *const u8, offset: u32, length: u32) -> u32 {
    crypto::is_equal(piece(one, offset, length), piece(other, offset, length)).into()
}

/// Encodes a piece, or decodes one: the number of an encoding, with 16 added for decoding. How many bytes were written;
/// for what cannot be decoded, the place (from 1), negative.
extern "C" fn code(way: u32, text: *const u8, offset: u32, length: u32, place: *mut u8) -> i32 {
    let text = piece(text, offset, length);
    let Some(encoding) = Encoding::ALL.get((way & 15) as usize) else { return 0 };
    let result = if way & 16 == 0 {
        Ok(encoding.encode(text, place_of(place, Encoding::room_for_text(text.len()))))
    } else {
        encoding.decode(text, place_of(place, Encoding::room_for_bytes(text.len())))
    };
    let number = |size: usize| i32::try_from(size).expect("a piece is small");
    match result {
        Ok(size) => number(size),
        Err(at) => -1 - number(at),
    }
}

/// Fills a place with random bytes: 1, or 0 where there are none to be had.
extern "C" fn random(place: *mut u8, room: u32) -> u32 {
    crypto::fill_with_random(place_of(place, room as usize)).into()
}
