//! Native code: the first line of each piece is recorded while it is compiled, and pieces are
//! listed.
//!
//! Never needs a page's memory for that, because the compiler may start when there is none.

use std::ffi::c_int;

use mlua_sys::lua_State;

use crate::engine::ffi::called::{Called, called_with};
use crate::engine::ffi::context::Memory;
use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::pieces::{Describe, Pieces};
use crate::engine::ffi::reference::Reference;
use crate::engine::ffi::slots::Type;
use crate::engine::ffi::stack::Stack;
use crate::limits::TRACES_MAX;

/// Returns the field with the place in a description, the function that describes an instruction, and one that calls a
/// function with the number, address and length of each piece.
pub(super) const LIBRARY: &[u8] = b"local compiler, most = require('jit.util'), ...
return 'loc', compiler.funcinfo, function(note)
  for number = 1, most do
    local code, address = compiler.tracemc(number)
    if code then note(number, address, #code) end
  end
end";

/// Begins to record pieces, with the compiled library on the stack. Returns the function that lists them, which is
/// kept.
pub(super) fn follow(inside: Inside, pieces: &Pieces) -> Reference {
    inside.push_number(f64::from(TRACES_MAX));
    inside.call(1, 3);
    let lister = Reference(inside.register());
    let function = inside.register();
    pieces.describe_by(Describe { function, field: inside.register() });
    lister
}

/// The compiler begins a piece: the second argument is its number, the third the function, the fourth the instruction
/// in it.
pub(super) fn on_begun(inside: Inside, arguments: Stack<'_>, pieces: &Pieces, memory: &Memory) {
    let number = arguments.number_at(2);
    let Some(describe) = pieces.describe() else { return };
    let count = inside.count();
    // A piece that cannot be shown is not recorded.
    if !(0.0..=f64::from(TRACES_MAX)).contains(&number) || count < 4 {
        return;
    }
    inside.push_registered(describe.field);
    inside.push_registered(describe.function);
    inside.push_copy(3);
    inside.push_copy(4);
    // The compiler may begin when a page has no memory left. Nothing is raised until the limit is back.
    let is_described = memory.unbounded(|| inside.call_caught(2));
    if is_described && inside.type_at(-1) == Type::Table {
        inside.swap();
        inside.get_raw(-2);
        // SAFETY: nothing takes it off before it is copied.
        let place = unsafe { inside.bytes_at(-1) }.unwrap_or_default();
        pieces.begin(number as usize, String::from_utf8_lossy(place).into_owned());
    }
    inside.truncate(count);
}

/// Adds a piece to the list.
pub(super) unsafe extern "C-unwind" fn note(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { arguments, context, .. } = unsafe { called_with(state) };
    let [number, address, bytes] = [1, 2, 3].map(|argument| arguments.number_at(argument) as u64);
    context.pieces.list(number as usize, address, bytes);
    0
}
