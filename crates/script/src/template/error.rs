//! Errors in a page before Lua sees it. The author of the page is always at fault.

use std::fmt;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateProblem {
    /// The page has more than [`PAGE_BYTES_MAX`] bytes.
    PageTooLong,
    /// The page has more than [`TAGS_MAX`] tags.
    TooManyTags,
    /// The page is not UTF-8.
    NotUtf8,
    /// There is no `%>` for a tag.
    UnclosedTag,
    /// There is a `<%` within code, so the previous tag was not closed.
    TagWithinCode,
    /// A value tag is empty, or has nothing between two commas.
    EmptyValue,
    /// `return` or `break` is used as a value.
    StatementAsValue,
    /// There is a NUL byte, or a carriage return without a line feed, within code.
    ControlByte,
    /// A string is not closed in its line and tag.
    UnfinishedString,
    /// A long string or long comment is not closed in its tag.
    UnfinishedLongBracket,
    /// A reserved name is used.
    ReservedName,
    /// More than [`NESTING_MAX`] blocks and brackets are open.
    NestedTooDeep,
    /// A word or bracket closes nothing.
    NothingToClose {
        /// The word or bracket.
        closer: &'static str,
    },
    /// A word or bracket closes something else than what is open.
    Mismatched {
        /// The word or bracket.
        closer: &'static str,
        /// The open word or bracket.
        opener: &'static str,
        /// The line in which that was opened.
        opened_on: u32,
    },
    /// A block or bracket is not closed in the page, or in its value tag.
    NeverClosed {
        /// The word or bracket that opens it.
        opener: &'static str,
    },
    /// Text or a value is printed inside an open bracket.
    PrintedWithin {
        /// The bracket.
        opener: &'static str,
        /// The line in which it was opened.
        opened_on: u32,
    },
    /// The code before text or a value is incomplete.
    UnfinishedCode,
}

impl TemplateError {
    /// The problem at a byte of the page.
    pub(crate) fn at(source: &[u8], offset: usize, what: TemplateProblem) -> TemplateError {
        let Place { line, column } = Place::of(source, offset);
        TemplateError { line, column, what }
    }
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let text = match *self {
            TemplateProblem::PageTooLong => {
                let megabytes = PAGE_BYTES_MAX / (1024 * 1024);
                return write!(
                    formatter,
                    "the page is longer than {megabytes} MiB: serve it as a file, or include parts"
                );
            }
            TemplateProblem::TooManyTags => {
                return write!(
                    formatter,
                    "the page has more than {TAGS_MAX} tags: split it with include, or use a loop"
                );
            }
            TemplateProblem::NestedTooDeep => {
                return write!(
                    formatter,
                    "more than {NESTING_MAX} blocks and brackets are open: make parts of the inner ones"
                );
            }
            TemplateProblem::NothingToClose { closer } => {
                return write!(formatter, "`{closer}` has nothing to close here: take it away");
            }
            TemplateProblem::Mismatched { closer, opener, opened_on } => {
                return write!(
                    formatter,
                    "`{closer}` does not close the `{opener}` of line {opened_on}: close that first"
                );
            }
            TemplateProblem::NeverClosed { opener } => {
                let closer = closer_of(opener);
                return write!(formatter, "`{opener}` is never closed: add `{closer}`");
            }
            TemplateProblem::PrintedWithin { opener, opened_on } => {
                return write!(
                    formatter,
                    "text is not allowed inside the `{opener}` of line {opened_on}: close that first"
                );
            }
            TemplateProblem::NotUtf8 => "the page is not UTF-8: save it in that encoding",
            TemplateProblem::UnclosedTag => "the tag is not closed: add `%>`",
            TemplateProblem::TagWithinCode => "`<%` within code: close the tag before it with `%>`",
            TemplateProblem::EmptyValue => {
                "there is no value to print: write one, or use `<% %>` for code"
            }
            TemplateProblem::StatementAsValue => {
                "a statement where a value is printed: write the value alone, or `<% %>` for code"
            }
            TemplateProblem::ControlByte => {
                "a NUL byte, or a carriage return without line feed, within code: take it away"
            }
            TemplateProblem::UnfinishedString => {
                "the string has no end: close it, and write `%%>` for a `%>` in it"
            }
            TemplateProblem::UnfinishedLongBracket => {
                "the long string or comment has no end in its tag: close it, and write `%%>` for a \
                 `%>` in it"
            }
            TemplateProblem::ReservedName => {
                "this name is taken by the page itself: choose another"
            }
            TemplateProblem::UnfinishedCode => {
                "the code is not finished here: a value has to follow"
            }
        };
        formatter.write_str(text)
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
