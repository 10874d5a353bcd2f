//! Where a page is, or was, where Lua does not tell it after a failure.
//!
//! Owns what is asked for that: the calls that are off the stack, and the place at the end of a slice. Never makes an error
//! of it.

use crate::engine::ffi::{Argument, Coroutine, Stack};
use crate::engine::library;
use crate::engine::state::State;
use crate::limits;

/// A function of a page or module that is not on the stack any more, as it ended with the call of another.
pub(super) struct LostCall {
    /// The level of the library that called it.
    pub(super) level: i32,
    pub(super) page: String,
    /// The line of its last call; 0 where it may be one of several.
    pub(super) line: u32,
}

/// A place that a run was at.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) page: String,
    pub(super) line: u32,
}

impl Seen {
    /// The innermost place of a coroutine that is in a page or module and has a line.
    pub(super) fn of(stack: Stack) -> Option<Box<Self>> {
        let points = (0..limits::TRACEBACK_LEVELS).map_while(|level| stack.trace_point(level));
        let mut pages = points.filter(|point| !point.chunk.starts_with(library::MARK));
        let point = pages.find(|point| point.line != 0)?;
        let page = point.chunk.trim_start_matches(['=', '@']).to_owned();
        Some(Box::new(Self { page, line: point.line }))
    }
}

impl State {
    /// The calls of a failed run that Lua forgot; none where there is no memory to look for them.
    pub(super) fn lost(&mut self, coroutine: &Coroutine) -> Vec<LostCall> {
        let told = self.lua.call_for_text(&self.kept.lost, Argument::Coroutine(coroutine));
        read(&told.unwrap_or_default())
    }
}

/// Reads what tails.lua tells: a level, a page and a line, each in a line of its own.
fn read(told: &str) -> Vec<LostCall> {
    let mut lines = told.lines();
    let next = std::iter::from_fn(|| Some((lines.next()?, lines.next()?, lines.next()?)));
    let call = |(level, page, line): (&str, &str, &str)| {
        let (level, line) = (level.parse().ok()?, line.parse().ok()?);
        Some(LostCall { level, page: page.to_owned(), line })
    };
    next.filter_map(call).collect()
}
