//! Positions in pages and modules that Lua does not report after a failure, because they were
//! recorded before.
//!
//! Owns the form of such a position. Never makes an error of it.

use crate::engine::ffi::Stack;
use crate::engine::library;
use crate::limits;

/// A function of a page or module that is no longer on the stack, because it ended with a tail call.
pub(super) struct LostCall {
    /// The level of the library that called it.
    level: i32,
    page: String,
    /// The line of its last call; 0 if it may be one of several.
    line: u32,
}

impl LostCall {
    pub(super) fn new(level: i32, page: &str, line: u32) -> Self {
        Self { level, page: page.to_owned(), line }
    }

    pub(super) fn level(&self) -> i32 {
        self.level
    }

    pub(super) fn page(&self) -> &str {
        &self.page
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }
}

/// A place that a run has reached.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    page: String,
    line: u32,
}

impl Seen {
    pub(super) fn page(&self) -> &str {
        &self.page
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// The innermost place of a coroutine that is in a page or module and has a line.
    pub(super) fn of(stack: Stack) -> Option<Box<Self>> {
        let points = (0..limits::TRACEBACK_LEVELS).map_while(|level| stack.trace_point(level));
        let mut pages = points.filter(|point| !point.chunk.starts_with(library::MARK));
        let point = pages.find(|point| point.line != 0)?;
        let page = point.chunk.trim_start_matches(['=', '@']).to_owned();
        Some(Box::new(Self { page, line: point.line }))
    }
}
