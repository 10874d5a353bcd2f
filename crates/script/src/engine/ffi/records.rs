//! The native functions that read the store.
//!
//! Owns the conversion of records, one by one: each push may raise an error, and nothing is held
//! then except the host's answer.

use std::ffi::c_int;

use mlua_sys::lua_State;

use crate::engine::ffi::called::{called_with, with_host};
use crate::engine::ffi::context::Context;
use crate::engine::ffi::stack::Inside;
use crate::engine::host::{Answer, Host, RecordParts, Records};

/// `read_record(database, key)`: the kind, the bytes, the version, and the expiry; nothing if there is no record; nil and the reason if it
/// cannot be read.
pub(super) unsafe extern "C-unwind" fn read_record(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let (inside, context) = unsafe { called_with(state) };
    let (Some(database), Some(key)) = (inside.bytes_at(1), inside.bytes_at(2)) else { return 0 };
    if !read(context, |host, answer| host.record(database, key, answer)) {
        return push_problem(inside, context);
    }
    let count = context.answer.borrow().field_count();
    inside.reserve(8);
    for index in 0..count {
        push(inside, context, index, |(name, _)| name);
        push(inside, context, index, |(_, value)| value);
    }
    2 * c_int::try_from(count).unwrap_or(0)
}

/// `read_records(database, prefix, after, has_after, count, parts)`: a list with key, kind, bytes (nothing if parts is 1), version and
/// expiry of each record; the key after which the next ones come, or nil; and the number of the commit. nil and the reason if they cannot be read.
pub(super) unsafe extern "C-unwind" fn read_records(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us with a state of ours.
    let (inside, context) = unsafe { called_with(state) };
    let (Some(database), Some(prefix)) = (inside.bytes_at(1), inside.bytes_at(2)) else {
        return 0;
    };
    let after = inside.bytes_at(3).filter(|_| inside.number_at(4) == 1.0);
    let count = inside.number_at(5) as usize;
    let parts = if inside.number_at(6) == 1.0 { RecordParts::Version } else { RecordParts::Whole };
    let wanted = Records { database, prefix, after, count, parts };
    if !read(context, |host, answer| host.records(wanted, answer)) {
        return push_problem(inside, context);
    }
    let fields = context.answer.borrow().field_count();
    inside.reserve(8);
    inside.push_table(c_int::try_from(5 * (fields / 3)).unwrap_or(0), 0);
    let mut place = 0.0;
    for index in 2..fields {
        // The part after a key is empty.
        let is_key = index % 3 == 2;
        set(inside, context, (index, &mut place), |(name, _)| name);
        if !is_key {
            set(inside, context, (index, &mut place), |(_, value)| value);
        }
    }
    let goes_on = context.answer.borrow().field_at(0).is_some_and(|(_, goes_on)| goes_on == b"1");
    if goes_on {
        push(inside, context, 0, |(name, _)| name);
    } else {
        inside.push_nil();
    }
    push(inside, context, 1, |(commit, _)| commit);
    3
}

/// Asks the host. Returns whether it could read; otherwise the answer is the reason.
fn read(
    context: &Context,
    ask: impl FnOnce(&mut dyn Host, &mut Answer) -> Result<(), String>,
) -> bool {
    let mut answer = context.answer.borrow_mut();
    answer.clear();
    match with_host(context, |host| ask(host, &mut answer)) {
        Some(Ok(())) => true,
        Some(Err(problem)) => {
            answer.text(problem.as_bytes());
            false
        }
        None => {
            answer.text(b"no scheduler can be asked here");
            false
        }
    }
}

fn push_problem(inside: Inside, context: &Context) -> c_int {
    inside.reserve(4);
    inside.push_nil();
    inside.push_bytes(context.answer.borrow().text_bytes());
    2
}

/// A part of a field.
type Side = for<'f> fn((&'f [u8], &'f [u8])) -> &'f [u8];

fn push(inside: Inside, context: &Context, index: usize, side: Side) {
    let answer = context.answer.borrow();
    inside.push_bytes(answer.field_at(index).map_or(b"", side));
}

/// Appends a part of a field to the list on top of the stack.
fn set(inside: Inside, context: &Context, (index, place): (usize, &mut f64), side: Side) {
    *place += 1.0;
    inside.push_number(*place);
    push(inside, context, index, side);
    inside.set_raw(-3);
}
