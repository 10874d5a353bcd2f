//! The calls of a failed run that are no longer on the stack because they ended with a tail call.
//!
//! Owns the reading of what tails.lua recorded about them. Never makes an error of it.

use crate::engine::ffi::{Argument, Coroutine};
use crate::engine::seen::LostCall;
use crate::engine::state::EngineState;

impl EngineState {
    /// The calls of a failed run that Lua no longer has; empty if there is no memory to search for them.
    pub(super) fn lost(&mut self, coroutine: &Coroutine) -> Vec<LostCall> {
        let told = self.lua.call_for_text(&self.kept.lost, Argument::Coroutine(coroutine));
        read(&told.unwrap_or_default())
    }
}

/// Parses the report of tails.lua: a level, a page and a line, on one line each.
fn read(told: &str) -> Vec<LostCall> {
    let mut lines = told.lines();
    let next = std::iter::from_fn(|| Some((lines.next()?, lines.next()?, lines.next()?)));
    let call = |(level, page, line): (&str, &str, &str)| {
        let (level, line) = (level.parse().ok()?, line.parse().ok()?);
        Some(LostCall::new(level, page, line))
    };
    next.filter_map(call).collect()
}
