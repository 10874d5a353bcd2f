//! The native functions that read the store.
//!
//! Owns the conversion of records, one by one: each push may raise an error, and nothing is held
//! then.

use std::ffi::c_int;

use mlua_sys::lua_State;

use crate::engine::ffi::called::{Called, called_with};
use crate::engine::ffi::inside::Inside;
use crate::engine::ffi::lending::CurrentHost;
use crate::engine::host::{HostAnswer, PageHost, RecordParts, RecordScan};

/// `read_record(database, key)`: the kind, the bytes, the version, and the expiry; nothing if there is no record; nil
/// and the reason if it cannot be read.
pub(super) unsafe extern "C-unwind" fn read_record(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let host = &context.host;
    let (Some(database), Some(key)) = (arguments.bytes_at(1), arguments.bytes_at(2)) else {
        return 0;
    };
    if !read(host, |host, answer| host.record(database, key, answer)) {
        return push_problem(inside, host);
    }
    let count = host.answered(HostAnswer::field_count);
    inside.reserve(8);
    for index in 0..count {
        host.push(inside, |answer| answer.name_at(index));
        host.push(inside, |answer| answer.value_at(index));
    }
    2 * c_int::try_from(count).unwrap_or(0)
}

/// `read_records(database, prefix, after, has_after, count, parts)`: a list with key, kind, bytes (nothing if parts is
/// 1), version and expiry of each record; the key after which the next ones come, or nil; and the number of the commit.
/// nil and the reason if they cannot be read.
pub(super) unsafe extern "C-unwind" fn read_records(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let Called { inside, arguments, context } = unsafe { called_with(state) };
    let host = &context.host;
    let (Some(database), Some(prefix)) = (arguments.bytes_at(1), arguments.bytes_at(2)) else {
        return 0;
    };
    let after = arguments.bytes_at(3).filter(|_| arguments.number_at(4) == 1.0);
    let count = arguments.number_at(5) as usize;
    let parts =
        if arguments.number_at(6) == 1.0 { RecordParts::Version } else { RecordParts::Whole };
    let wanted = RecordScan { database, prefix, after, count, parts };
    if !read(host, |host, answer| host.records(wanted, answer)) {
        return push_problem(inside, host);
    }
    let fields = host.answered(HostAnswer::field_count);
    inside.reserve(8);
    inside.push_table(c_int::try_from(5 * (fields / 3)).unwrap_or(0), 0);
    let mut place = 0.0;
    for index in 2..fields {
        // The part after a key is empty.
        let is_key = index % 3 == 2;
        set(inside, host, &mut place, |answer| answer.name_at(index));
        if !is_key {
            set(inside, host, &mut place, |answer| answer.value_at(index));
        }
    }
    let goes_on = host.answered(|answer| answer.value_at(0) == b"1");
    if goes_on {
        host.push(inside, |answer| answer.name_at(0));
    } else {
        inside.push_nil();
    }
    host.push(inside, |answer| answer.name_at(1));
    3
}

/// Asks the host. Returns whether it could read; otherwise the answer is the reason.
fn read(
    host: &CurrentHost,
    ask: impl FnOnce(&mut dyn PageHost, &mut HostAnswer) -> Result<(), String>,
) -> bool {
    match host.ask(ask) {
        Some(Ok(())) => return true,
        Some(Err(problem)) => host.set_answer(problem.as_bytes()),
        None => host.set_answer(b"no scheduler can be asked here"),
    }
    false
}

fn push_problem(inside: Inside, host: &CurrentHost) -> c_int {
    inside.reserve(4);
    inside.push_nil();
    host.push(inside, HostAnswer::text_bytes);
    2
}

/// Appends a part of the answer to the list on top of the stack.
fn set(
    inside: Inside,
    host: &CurrentHost,
    place: &mut f64,
    part: impl FnOnce(&HostAnswer) -> &[u8],
) {
    *place += 1.0;
    inside.push_number(*place);
    host.push(inside, part);
    inside.set_raw(-3);
}
