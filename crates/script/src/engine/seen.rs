//! Positions in pages and modules that Lua does not report after a failure, because they were
//! recorded before.
//!
//! Owns the form of such a position. Never makes an error of it.

use crate::engine::ffi::Stack;
use crate::engine::library;
use crate::limits;

/// A function of a page or module that is no longer on the stack, because it ended with a tail call. Plain
/// data.
pub(super) struct LostCall {
    /// The level of the library that called it.
    pub(crate) level: i32,
    pub(crate) page: String,
    /// The line of its last call; 0 if it may be one of several.
    pub(crate) line: u32,
}

/// A place that a run has reached. Plain data.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(crate) page: String,
    pub(crate) line: u32,
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
