//! Where LuaJIT keeps the stack top of the running coroutine: words that its interface does not
//! expose.
//!
//! Owns the repair of one bug in LuaJIT. Never touches a word except when an allocation fails.
//!
//! A function in assembler, such as `string.sub`, sets its frame base before it allocates, but not
//! the stack top, which still has the value of another function. When the allocation fails, LuaJIT
//! writes its error at that top (`lj_err_mem` in lj_err.c). If the top is below the frame, the
//! error overwrites a link between frames, and unwinding crashes. So before an allocation is
//! refused, a top below its frame is moved to the frame base.
//!
//! The words of `lua_State` are those of lj_obj.h; the place where `global_State` names the running
//! coroutine is searched. Both are verified for each state.

use std::ffi::c_int;

use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::slots::Status;

/// The word of `lua_State` with the address of its `global_State`.
const GLOBAL: usize = 2;
/// The word of `lua_State` with the start of its frame, `base`.
const BASE: usize = 4;
/// The word with the end of its stack, `top`.
const TOP: usize = 5;

/// The place of the word that names the running coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running(*const *mut lua_State);

impl Running {
    /// Searches for the place. `None` if the words are not where they should be.
    pub(super) fn find(inside: Inside) -> Option<Self> {
        // SAFETY: the state is open.
        let global = unsafe { word_of(inside.state(), GLOBAL) } as *const usize;
        let mut seen = Seen { global, are_words_right: true, places: u64::MAX };
        for _ in 0..2 {
            // SAFETY: it stays on the stack until it has run.
            let coroutine = unsafe { inside.push_coroutine() };
            inside.push_pointer((&raw mut seen).cast());
            // SAFETY: only the coroutine has it, which is run once, here.
            unsafe { inside.close_over(look, 1) };
            // SAFETY: it is a coroutine of this state.
            unsafe { inside.move_to(coroutine, 1) };
            let is_right = coroutine.resume(0) == Status::Returned && seen.are_words_right;
            inside.drop_top(1);
            if !is_right {
                return None;
            }
        }
        let is_one = seen.places.is_power_of_two();
        let place = seen.places.trailing_zeros() as usize;
        is_one.then(|| Self(global.wrapping_add(place).cast()))
    }

    /// Ensures that an error written at the top of the stack does not overwrite frames.
    ///
    /// # Safety
    /// The state in which it was found is open.
    #[cold]
    pub(super) unsafe fn mend_end(self) {
        // SAFETY: the word lies in the `global_State` of that state.
        let state = unsafe { *self.0 };
        if state.is_null() {
            return;
        }
        // SAFETY: the coroutine runs, so it is alive.
        let base = unsafe { word_of(state, BASE) };
        // SAFETY: as above.
        let top = unsafe { word_of(state, TOP) };
        if top < base {
            // SAFETY: `find` has proved that it is the end of the stack, and the begin of the frame lies in the stack.
            unsafe { state.cast::<usize>().wrapping_add(TOP).write(base) };
        }
    }
}

/// The observations of coroutines about themselves.
struct Seen {
    global: *const usize,
    are_words_right: bool,
    /// The first words of `global_State` that named each coroutine while it ran, as bits.
    places: u64,
}

/// A word of a coroutine.
///
/// # Safety
/// The coroutine is alive, and the word is one of those above.
unsafe fn word_of(state: *const lua_State, word: usize) -> usize {
    // SAFETY: `lua_State` has more words, all of them set.
    unsafe { state.cast::<usize>().wrapping_add(word).read() }
}

/// Runs in a coroutine and searches for it.
unsafe extern "C-unwind" fn look(state: *mut lua_State) -> c_int {
    // SAFETY: Lua called us: it has what `find` gave along.
    let seen = unsafe { api::lua_touserdata(state, api::lua_upvalueindex(1)) }.cast::<Seen>();
    // SAFETY: it is valid for the time of the resume, and nobody else uses it meanwhile.
    let seen = unsafe { &mut *seen };
    // SAFETY: it runs, so it is alive.
    let words = |word| unsafe { word_of(state, word) };
    let [base, top] = [BASE, TOP].map(words);
    // SAFETY: a native function has room for a few values.
    unsafe { api::lua_pushnil(state) };
    let value = size_of::<u64>();
    // SAFETY: the state is open.
    let count = unsafe { api::lua_gettop(state) } as usize;
    seen.are_words_right &= words(BASE) == base
        && words(TOP) == top + value
        && top + value == base + count * value
        && words(GLOBAL) == seen.global.addr();
    if seen.are_words_right {
        for place in 0..u64::BITS {
            // SAFETY: a `global_State` is longer, and lies before more of the same block.
            let word = unsafe { seen.global.wrapping_add(place as usize).read() };
            seen.places &= !(u64::from(word != state.addr()) << place);
        }
    }
    0
}
