//! The blocks and brackets that are open at a place in a page's code, across all of its tags.
//!
//! Owns the balance: a page can neither end the function around it nor leave it open.

use crate::limits::NESTING_MAX;
use crate::template::error::{TemplateError, TemplateProblem};
use crate::template::place::Place;
use crate::template::token::{Closer, Opener, Token};

/// The open words and brackets.
#[derive(Debug)]
pub(crate) struct Nesting<'a> {
    source: &'a str,
    open: Vec<Open>,
    /// How many of them cannot be closed: those around a value tag.
    floor: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A block or bracket of the page, and where it begins.
    Page(Opener, usize),
    /// The `do` inserted before a `return`, and its position.
    Return(usize),
}

impl<'a> Nesting<'a> {
    pub(crate) fn new(source: &'a str) -> Nesting<'a> {
        Nesting { source, open: Vec::new(), floor: 0 }
    }

    /// Whether everything is closed that was opened since the floor was raised.
    pub(crate) fn is_level(&self) -> bool {
        self.open.len() == self.floor
    }

    /// From now on nothing that is open can be closed.
    pub(crate) fn raise_floor(&mut self) {
        self.floor = self.open.len();
    }

    /// Everything can be closed again; an error if something was opened above the floor and is still open.
    pub(crate) fn lower_floor(&mut self) -> Result<(), TemplateError> {
        let result = self.assert_level();
        self.floor = 0;
        result
    }

    /// An error for anything open above the floor.
    pub(crate) fn assert_level(&self) -> Result<(), TemplateError> {
        match self.open.get(self.floor) {
            None => Ok(()),
            Some(Open::Page(opener, at)) => {
                Err(self.error(*at, TemplateProblem::NeverClosed { opener: opener.text() }))
            }
            Some(Open::Return(at)) => {
                Err(self.error(*at, TemplateProblem::NeverClosed { opener: "return" }))
            }
        }
    }

    /// An error if no statement is allowed here.
    pub(crate) fn assert_statement(&self, at: usize) -> Result<(), TemplateError> {
        match self.open.last() {
            Some(Open::Page(opener, opened_at)) if opener.is_bracket() => {
                let opened_on = self.line(*opened_at);
                Err(self
                    .error(at, TemplateProblem::PrintedWithin { opener: opener.text(), opened_on }))
            }
            _ => Ok(()),
        }
    }

    /// A block or bracket begins.
    pub(crate) fn on_open(&mut self, opener: Opener, token: Token) -> Result<(), TemplateError> {
        self.push(Open::Page(opener, token.start), token)
    }

    /// A `return` begins, which extends to the end of its block or tag.
    pub(crate) fn on_return(&mut self, token: Token) -> Result<(), TemplateError> {
        self.push(Open::Return(token.start), token)
    }

    fn push(&mut self, open: Open, token: Token) -> Result<(), TemplateError> {
        if self.open.len() >= NESTING_MAX {
            return Err(self.error(token.start, TemplateProblem::NestedTooDeep));
        }
        self.open.push(open);
        Ok(())
    }

    /// Ends the `return` that extends to this place. Returns whether there is one.
    pub(crate) fn take_return(&mut self) -> bool {
        let is_return = matches!(self.top(), Some(Open::Return(_)));
        if is_return {
            self.open.pop();
        }
        is_return
    }

    /// A block or bracket ends.
    pub(crate) fn on_close(&mut self, closer: Closer, token: Token) -> Result<(), TemplateError> {
        self.expect(token, closer.text(), |opener| closer.closes(opener))?;
        self.open.pop();
        Ok(())
    }

    /// An `else` or `elseif`.
    pub(crate) fn on_branch(&self, word: &'static str, token: Token) -> Result<(), TemplateError> {
        self.expect(token, word, |opener| opener == Opener::If)
    }

    fn expect(
        &self,
        token: Token,
        closer: &'static str,
        matches: impl Fn(Opener) -> bool,
    ) -> Result<(), TemplateError> {
        let (opener, opened_at) = match self.top() {
            None => return Err(self.error(token.start, TemplateProblem::NothingToClose { closer })),
            Some(Open::Page(opener, _)) if matches(opener) => return Ok(()),
            Some(Open::Page(opener, opened_at)) => (opener.text(), opened_at),
            Some(Open::Return(opened_at)) => ("return", opened_at),
        };
        let opened_on = self.line(opened_at);
        Err(self.error(token.start, TemplateProblem::Mismatched { closer, opener, opened_on }))
    }

    /// The innermost of what can be closed.
    fn top(&self) -> Option<Open> {
        self.open.get(self.floor..)?.last().copied()
    }

    fn line(&self, offset: usize) -> u32 {
        Place::of(self.source.as_bytes(), offset).line
    }

    fn error(&self, offset: usize, what: TemplateProblem) -> TemplateError {
        TemplateError::at(self.source.as_bytes(), offset, what)
    }
}
