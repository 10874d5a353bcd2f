//! Native code: the first line of each piece is recorded while it is compiled, and pieces are
//! listed.
//!
//! Never needs a page's memory for that, because the compiler may start when there is none.

use std::ffi::c_int;

use mlua_sys::lua_State;

use crate::engine::ffi::called::called_with;
use crate::engine::ffi::context::Memory;
use crate::engine::ffi::pieces::Pieces;
use crate::engine::ffi::reference::Reference;
use crate::engine::ffi::stack::Inside;
use crate::limits::TRACES_MAX;

/// Returns the function that describes an instruction, and one that calls a function with the number, address and length of each piece.
pub(super) const LIBRARY: &[u8] = b"local compiler, most = require('jit.util'), ...
return compiler.funcinfo, function(note)
  for number = 1, most do
    local code, address = compiler.tracemc(number)
    if code then note(number, address, #code) end
  end
end";

/// Begins to record pieces, with the compiled library on the stack. Returns the function that lists them, which is kept.
pub(super) fn follow(inside: Inside, pieces: &Pieces) -> Reference {
    inside.push_number(f64::from(TRACES_MAX));
    inside.call(1, 2);
    let lister = Reference(inside.register());
    pieces.describe.set(Some(inside.register()));
    lister
}

/// The compiler begins a piece: the second argument is its number, the third the function, the fourth the instruction in it.
pub(super) fn on_begun(inside: Inside, pieces: &Pieces, memory: &Memory) {
    let number = inside.number_at(2);
    let Some(describe) = pieces.describe.get() else { return };
    // A piece that cannot be shown is not recorded.
    if !(0.0..=f64::from(TRACES_MAX)).contains(&number) {
        return;
    }
    // The compiler may begin when a page has no memory left.
    let unbounded = Unbounded::new(memory);
    inside.reserve(4);
    inside.push_registered(describe);
    inside.push_copy(3);
    inside.push_copy(4);
    inside.call(2, 1);
    inside.push_field(-1, c"loc");
    let place = String::from_utf8_lossy(inside.bytes_at(-1).unwrap_or_default()).into_owned();
    inside.truncate(inside.count() - 2);
    drop(unbounded);
    pieces.begin(number as usize, place);
}

/// Lifts the memory limit until it is dropped, also by an error that is raised meanwhile.
struct Unbounded<'memory> {
    memory: &'memory Memory,
    bound: usize,
}

impl<'memory> Unbounded<'memory> {
    fn new(memory: &'memory Memory) -> Self {
        let bound = memory.bound();
        memory.set_bound(usize::MAX);
        Self { memory, bound }
    }
}

impl Drop for Unbounded<'_> {
    fn drop(&mut self) {
        self.memory.set_bound(self.bound);
    }
}

/// Adds a piece to the list.
pub(super) unsafe extern "C-unwind" fn note(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let (inside, context) = unsafe { called_with(state) };
    let [number, address, bytes] = [1, 2, 3].map(|argument| inside.number_at(argument) as u64);
    context.pieces.list(number as usize, address, bytes);
    0
}
