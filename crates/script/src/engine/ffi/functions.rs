//! The native functions of the library, called from Lua.
//!
//! Owns the conversion of arguments and results. Never decides what a page may call: the library
//! exposes these functions, or keeps them.

use std::ffi::{CStr, c_int, c_void};

use memchr::memmem;
use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::escape;
use crate::engine::ffi::address::{piece, place_of};
use crate::engine::ffi::called::{Called, called_with};
use crate::engine::ffi::context::Context;
use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::lending::CurrentHost;
use crate::engine::ffi::slots::Type;
use crate::engine::ffi::{crypto, native, records, utf8};
use crate::engine::host::{HostAnswer, PageHost, PageLogLevel, PublishedValue, RequestPart, Shape};
use crate::engine::keys::{Keys, Signed};
use crate::limits;

/// Puts the native functions into the table on top of the stack.
pub(super) fn install(inside: Inside) {
    let functions: [(&CStr, api::lua_CFunction); 15] = [
        (c"ask", ask),
        (c"log", log),
        (c"publish_message", publish_message),
        (c"read_record", records::read_record),
        (c"read_records", records::read_records),
        (c"now", now),
        (c"clock", clock),
        (c"hint", hint),
        (c"find", find),
        (c"load", load),
        (c"load_code", load_code),
        (c"site", site),
        (c"take_limit", take_limit),
        (c"sign", sign),
        (c"verify", verify),
    ];
    for (name, function) in functions {
        // SAFETY: they take any arguments.
        unsafe { inside.push_function(function) };
        inside.set_field(-2, name);
    }
    // Called through LuaJIT's FFI, which only the library can use, so that the caller stays in native code.
    let measure: unsafe extern "C" fn(*const u8, u32, u32) -> u32 = escape_measure;
    let write: unsafe extern "C" fn(*const u8, u32, u32, *mut u8, u32, u32) -> u32 = escape_write;
    let pointers: [(&CStr, *mut c_void); 2] =
        [(c"escape_measure", measure as *mut c_void), (c"escape_write", write as *mut c_void)];
    for (name, pointer) in pointers.into_iter().chain(crypto::pointers()).chain(utf8::pointers()) {
        inside.push_pointer(pointer);
        inside.set_field(-2, name);
    }
}

/// Makes the compiler report its begin and end. The names of its events are kept, because it must not need memory for
/// them when there is none.
const ATTACH: &[u8] = b"jit.attach(..., 'trace') return { 'start', 'stop', 'abort', 'flush' }";

/// Begins to watch the compiler; leaves the values to keep on the stack.
pub(super) fn watch_compiler(inside: Inside) {
    if compile(inside, c"=[library] attach", ATTACH) {
        // SAFETY: it takes any arguments.
        unsafe { inside.push_function(on_compiler) };
        inside.call(1, 1);
    }
}

/// Called by the compiler with the name of an event.
unsafe extern "C-unwind" fn on_compiler(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let Context { watch, pieces, memory, .. } = context;
    if arguments.bytes_at(1) == Some(b"start") {
        watch.on_compiler_begun();
        native::on_begun(inside, arguments, pieces, memory);
    } else {
        pieces.end(arguments.bytes_at(1));
        watch.on_compiler_ended();
    }
    0
}

/// `ask(part)`: a part of the request, as a string or as a table of names and values; nil and the limit if there are
/// more than that many.
unsafe extern "C-unwind" fn ask(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let Some(part) = RequestPart::of_number(arguments.number_at(1)) else { return 0 };
    let asked = context.host.ask(|host, answer| host.request(part, answer));
    if asked.is_none() || context.host.answered(HostAnswer::shape) == Shape::Refused {
        inside.raise("there is no request here");
    }
    push_answer(inside, &context.host)
}

/// Pushes the host's answer.
fn push_answer(inside: Inside, host: &CurrentHost) -> c_int {
    match host.answered(HostAnswer::shape) {
        Shape::Nothing | Shape::Refused => return 0,
        Shape::Text => {
            host.push(inside, HostAnswer::text_bytes);
            return 1;
        }
        Shape::Fields => {}
    }
    let count = host.answered(HostAnswer::field_count);
    if count > limits::FIELDS_MAX {
        inside.push_nil();
        inside.push_number(limits::FIELDS_MAX as f64);
        return 2;
    }
    inside.push_table(0, c_int::try_from(count).unwrap_or(0));
    for index in 0..count {
        host.push(inside, |answer| answer.name_at(index));
        host.push(inside, |answer| answer.value_at(index));
        inside.set_raw(-3);
    }
    1
}

/// `log(level, text)`.
unsafe extern "C-unwind" fn log(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { arguments, context, .. } = unsafe { called_with(state) };
    let level = PageLogLevel::of_number(arguments.number_at(1));
    let text = arguments.bytes_at(2).unwrap_or_default();
    context.host.call(|host| host.log(level, text));
    0
}

/// `publish_message(kind, channel, value)`: publishes a string (kind 1) or a value in JSON (2); returns the reason if
/// that fails.
unsafe extern "C-unwind" fn publish_message(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let (Some(channel), Some(value)) = (arguments.bytes_at(2), arguments.bytes_at(3)) else {
        return 0;
    };
    let value = match arguments.number_at(1) as u8 {
        1 => PublishedValue::Text(value),
        _ => PublishedValue::Json(value),
    };
    push_problem(inside, &context.host, |host| host.publish(channel, value))
}

/// `hint(link)`: gives the client a link before the answer; returns the reason if that fails.
unsafe extern "C-unwind" fn hint(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let Some(link) = arguments.bytes_at(1) else { return 0 };
    push_problem(inside, &context.host, |host| host.hint(link))
}

/// Has the host do something, and pushes the reason why it has not. Returns how many values that are.
fn push_problem(
    inside: Inside,
    host: &CurrentHost,
    work: impl FnOnce(&mut dyn PageHost) -> Result<(), String>,
) -> c_int {
    // Values with destructors are dropped before an error may be raised: the reason is kept as an answer.
    let Some(Err(problem)) = host.call(work) else { return 0 };
    host.set_answer(problem.as_bytes());
    drop(problem);
    host.push(inside, HostAnswer::text_bytes);
    1
}

/// `take_limit(name, key)`: the seconds after which it is allowed, 0 for now; nothing if there is no such limit.
unsafe extern "C-unwind" fn take_limit(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let (Some(name), Some(key)) = (arguments.bytes_at(1), arguments.bytes_at(2)) else { return 0 };
    let Some(Some(wait)) = context.host.call(|host| host.take_limit(name, key)) else { return 0 };
    inside.push_number(wait.as_secs_f64());
    1
}

/// `now()`: seconds since 1970, from the host.
unsafe extern "C-unwind" fn now(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, context, .. } = unsafe { called_with(state) };
    let now = context.host.call(|host| host.now()).unwrap_or_default();
    inside.push_number(now.as_secs_f64());
    1
}

/// `clock()`: monotonic seconds, from the host.
unsafe extern "C-unwind" fn clock(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, context, .. } = unsafe { called_with(state) };
    let time = context.host.call(|host| host.clock()).unwrap_or_default();
    inside.push_number(time.as_secs_f64());
    1
}

/// `find(text, needle, start, stop)`: the position of the needle between these positions, in linear time; nothing if
/// there is none.
unsafe extern "C-unwind" fn find(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, .. } = unsafe { called_with(state) };
    let (Some(text), Some(needle)) = (arguments.bytes_at(1), arguments.bytes_at(2)) else {
        return 0;
    };
    let start = (arguments.number_at(3) as usize).saturating_sub(1);
    let stop = (arguments.number_at(4) as usize).min(text.len());
    match text.get(start..stop).and_then(|within| memmem::find(within, needle)) {
        Some(at) => {
            inside.push_number((start + at + 1) as f64);
            1
        }
        None => 0,
    }
}

unsafe extern "C-unwind" {
    /// Compiles a chunk of the kinds in `mode`; mlua-sys does not declare it for LuaJIT.
    fn luaL_loadbufferx(
        state: *mut lua_State,
        start: *const std::ffi::c_char,
        size: usize,
        name: *const std::ffi::c_char,
        mode: *const std::ffi::c_char,
    ) -> c_int;
}

/// Compiles `text` and pushes the function, or the message if that fails. Returns whether it worked.
pub(super) fn compile(inside: Inside, name: &CStr, text: &[u8]) -> bool {
    load_as(inside, c"t", name, text)
}

/// Loads a chunk of a kind: text, or byte code that the library made.
fn load_as(inside: Inside, kind: &CStr, name: &CStr, chunk: &[u8]) -> bool {
    inside.reserve(1);
    // SAFETY: there is room, and both ranges are readable. Byte code is that of the library alone: see `load_code`.
    let status = unsafe {
        luaL_loadbufferx(
            inside.state(),
            chunk.as_ptr().cast(),
            chunk.len(),
            name.as_ptr(),
            kind.as_ptr(),
        )
    };
    if status == api::LUA_ERRMEM {
        inside.raise_top();
    }
    status == api::LUA_OK
}

/// `load(text, name, environment)`: a function, or nil and a message. Never byte code.
unsafe extern "C-unwind" fn load(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, .. } = unsafe { called_with(state) };
    let (Some(text), Some(name)) = (arguments.bytes_at(1), arguments.bytes_at(2)) else { return 0 };
    let Ok(name) = CStr::from_bytes_with_nul(name) else { return 0 };
    if arguments.type_at(3) != Type::Table {
        inside.raise("a loaded chunk needs an environment");
    }
    if compile(inside, name, text) {
        inside.set_environment(3);
        return 1;
    }
    inside.push_nil();
    inside.swap();
    2
}

/// `load_code(code)`: the function of byte code. Only the library can call it, for code that LuaJIT itself has dumped
/// (instances.lua), because other byte code could do anything.
unsafe extern "C-unwind" fn load_code(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, .. } = unsafe { called_with(state) };
    let Some(code) = arguments.bytes_at(1) else { return 0 };
    if !load_as(inside, c"b", c"=code", code) {
        inside.raise_top();
    }
    1
}

/// `sign(name, expires, value)`: the code of a cookie.
unsafe extern "C-unwind" fn sign(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let (Some(name), Some(value)) = (arguments.bytes_at(1), arguments.bytes_at(3)) else {
        return 0;
    };
    let expires = arguments.number_at(2) as u64;
    // No value with a destructor is left when an error is raised.
    let sign = |keys: &Keys, site: &[u8]| keys.sign(Signed { site, name, expires, value });
    let code = context.host.with_keys(sign);
    match code {
        Some(code) => inside.push_bytes(&code),
        None => inside.raise("there is no secret to sign cookies with"),
    }
    1
}

/// `verify(name, expires, value, code)`: 1 if the code is that of the cookie, otherwise 0.
unsafe extern "C-unwind" fn verify(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let (Some(name), Some(value)) = (arguments.bytes_at(1), arguments.bytes_at(3)) else {
        return 0;
    };
    let code = arguments.bytes_at(4).unwrap_or_default();
    let expires = arguments.number_at(2) as u64;
    let verify =
        |keys: &Keys, site: &[u8]| keys.verify(Signed { site, name, expires, value }, code);
    let is_signed = context.host.with_keys(verify);
    inside.push_number(f64::from(u8::from(is_signed)));
    1
}

/// `site()`: the name of the run's site; empty for the one without a name.
unsafe extern "C-unwind" fn site(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, context, .. } = unsafe { called_with(state) };
    // Values with destructors are dropped before an error may be raised: the name is kept as an answer.
    context.host.set_answer(&context.host.site());
    context.host.push(inside, HostAnswer::text_bytes);
    1
}

/// The length of a piece of a text with its escapes.
unsafe extern "C" fn escape_measure(start: *const u8, offset: u32, length: u32) -> u32 {
    // SAFETY: the library passes a string that is on its stack, and a part of it.
    let piece = unsafe { piece(start, offset, length) };
    u32::try_from(escape::escaped_length(piece)).unwrap_or(u32::MAX)
}

/// Writes a piece of a text with its escapes to a place of `room` bytes, from `written` on. Returns how many bytes of
/// the place are then written.
unsafe extern "C" fn escape_write(
    start: *const u8,
    offset: u32,
    length: u32,
    place: *mut u8,
    written: u32,
    room: u32,
) -> u32 {
    // SAFETY: the library made a place of that many bytes, as was measured of all pieces.
    let place = unsafe { place_of(place, room as usize) };
    // SAFETY: the library passes a string that is on its stack, and a part of it.
    let piece = unsafe { piece(start, offset, length) };
    let size = escape::write(piece, place.get_mut(written as usize..).unwrap_or_default());
    written.saturating_add(u32::try_from(size).unwrap_or(u32::MAX))
}
