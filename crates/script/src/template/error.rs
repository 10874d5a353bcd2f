//! Errors in a page before Lua sees it. The author of the page is always at fault.

use crate::limits::{NESTING_MAX, PAGE_BYTES_MAX, TAGS_MAX};
use crate::template::place::Place;

/// A page that cannot be compiled: where, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct TemplateError {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// The reason.
    pub what: TemplateProblem,
}

/// Why a page cannot be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    /// The page has more than [`PAGE_BYTES_MAX`] bytes.
    #[error(
        "the page is longer than {} MiB: serve it as a file, or include parts",
        PAGE_BYTES_MAX / (1024 * 1024)
    )]
    PageTooLong,
    /// The page has more than [`TAGS_MAX`] tags.
    #[error("the page has more than {TAGS_MAX} tags: split it with include, or use a loop")]
    TooManyTags,
    /// The page is not UTF-8.
    #[error("the page is not UTF-8: save it in that encoding")]
    NotUtf8,
    /// There is no `%>` for a tag.
    #[error("the tag is not closed: add `%>`")]
    UnclosedTag,
    /// There is a `<%` within code, so the previous tag was not closed.
    #[error("`<%` within code: close the tag before it with `%>`")]
    TagWithinCode,
    /// A value tag is empty, or has nothing between two commas.
    #[error("there is no value to print: write one, or use `<% %>` for code")]
    EmptyValue,
    /// `return` or `break` is used as a value.
    #[error("a statement where a value is printed: write the value alone, or `<% %>` for code")]
    StatementAsValue,
    /// There is a NUL byte, or a carriage return without a line feed, within code.
    #[error("a NUL byte, or a carriage return without line feed, within code: take it away")]
    ControlByte,
    /// A string is not closed in its line and tag.
    #[error("the string has no end: close it, and write `%%>` for a `%>` in it")]
    UnfinishedString,
    /// A long string or long comment is not closed in its tag.
    #[error(
        "the long string or comment has no end in its tag: close it, and write `%%>` for a `%>` \
         in it"
    )]
    UnfinishedLongBracket,
    /// A reserved name is used.
    #[error("this name is taken by the page itself: choose another")]
    ReservedName,
    /// More than [`NESTING_MAX`] blocks and brackets are open.
    #[error("more than {NESTING_MAX} blocks and brackets are open: make parts of the inner ones")]
    NestedTooDeep,
    /// A word or bracket closes nothing.
    #[error("`{closer}` has nothing to close here: take it away")]
    NothingToClose {
        /// The word or bracket.
        closer: &'static str,
    },
    /// A word or bracket closes something else than what is open.
    #[error("`{closer}` does not close the `{opener}` of line {opened_on}: close that first")]
    Mismatched {
        /// The word or bracket.
        closer: &'static str,
        /// The open word or bracket.
        opener: &'static str,
        /// The line in which that was opened.
        opened_on: u32,
    },
    /// A block or bracket is not closed in the page, or in its value tag.
    #[error("`{opener}` is never closed: add `{}`", closer_of(.opener))]
    NeverClosed {
        /// The word or bracket that opens it.
        opener: &'static str,
    },
    /// Text or a value is printed inside an open bracket.
    #[error("text is not allowed inside the `{opener}` of line {opened_on}: close that first")]
    PrintedWithin {
        /// The bracket.
        opener: &'static str,
        /// The line in which it was opened.
        opened_on: u32,
    },
    /// The code before text or a value is incomplete.
    #[error("the code is not finished here: a value has to follow")]
    UnfinishedCode,
}

impl TemplateError {
    /// The problem at a byte of the page.
    pub(crate) fn at(source: &[u8], offset: usize, what: TemplateProblem) -> TemplateError {
        let Place { line, column } = Place::of(source, offset);
        TemplateError { line, column, what }
    }
}

fn closer_of(opener: &str) -> &'static str {
    match opener {
        "(" => ")",
        "[" => "]",
        "{" => "}",
        "repeat" => "until",
        _ => "end",
    }
}
