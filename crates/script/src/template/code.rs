//! The middle stage: the code of one tag, prepared for insertion among other code.
//!
//! Owns what is changed in it: comments are removed (their line breaks stay), `%%>` becomes `%>`,
//! line ends become line feeds, and `return` and `break` get their own block, because Lua requires
//! them to be the last statement of one. Everything else is copied.

use std::ops::Range;

use crate::template::error::{TemplateError, TemplateProblem};
use crate::template::nesting::Nesting;
use crate::template::place::{LineCounter, line_breaks};
use crate::template::split::Tag;
use crate::template::token::{Closer, Lexeme, Lexer, Token};

/// Names that the generated text needs.
pub(crate) const RESERVED: [&str; 3] = ["__output", "__escaped", "__raw"];

/// The Lua text of a tag's code, or of one value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) lua: String,
    /// The line of the page in which it begins.
    pub(crate) line: u32,
    /// Whether it contains a call.
    pub(crate) calls: bool,
    /// Its last token.
    pub(crate) last: Token,
}

/// The content of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    Statements,
    Values,
}

/// Reads the code of one page, tag by tag.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    source: &'a str,
    pub(crate) nesting: Nesting<'a>,
    pub(crate) counter: LineCounter<'a>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a str) -> Reader<'a> {
        Reader { source, nesting: Nesting::new(source), counter: LineCounter::new(source) }
    }

    /// The statements of a tag; `None` if it contains no code.
    pub(crate) fn statements(&mut self, tag: &Tag) -> Result<Option<Fragment>, TemplateError> {
        Ok(self.fragments(tag, Grammar::Statements)?.pop())
    }

    /// The values of a tag, at least one.
    pub(crate) fn values(&mut self, tag: &Tag) -> Result<Vec<Fragment>, TemplateError> {
        self.nesting.raise_floor();
        let fragments = self.fragments(tag, Grammar::Values)?;
        self.nesting.lower_floor()?;
        Ok(fragments)
    }

    fn fragments(&mut self, tag: &Tag, grammar: Grammar) -> Result<Vec<Fragment>, TemplateError> {
        self.refuse_control_bytes(&tag.inside)?;
        let mut lexer = Lexer::new(&self.source[..tag.inside.end], tag.inside.start);
        let mut fragments = Vec::new();
        let mut draft: Option<Draft> = None;
        let mut empty_at = tag.opened_at;
        while let Some(token) = lexer.next_token()? {
            if token.lexeme == Lexeme::Comment {
                if let Some(draft) = &mut draft {
                    draft.leave_out(token);
                }
                continue;
            }
            let line = self.counter.line(token.start);
            if grammar == Grammar::Values
                && token.lexeme == Lexeme::Comma
                && self.nesting.is_level()
            {
                let value = draft
                    .take()
                    .ok_or_else(|| self.error(empty_at, TemplateProblem::EmptyValue))?;
                fragments.push(self.finish(value, grammar)?);
                empty_at = token.start;
                continue;
            }
            if grammar == Grammar::Values
                && matches!(token.lexeme, Lexeme::Return | Lexeme::Break)
                && self.nesting.is_level()
            {
                return Err(self.error(token.start, TemplateProblem::StatementAsValue));
            }
            let draft = draft.get_or_insert_with(|| Draft::new(self.source, token, line));
            self.on_token(token, draft)?;
        }
        match draft {
            Some(draft) => fragments.push(self.finish(draft, grammar)?),
            None if grammar == Grammar::Values => {
                return Err(self.error(empty_at, TemplateProblem::EmptyValue));
            }
            None => {}
        }
        Ok(fragments)
    }

    /// Handles one token.
    fn on_token(&mut self, token: Token, draft: &mut Draft) -> Result<(), TemplateError> {
        let ends_return = matches!(
            token.lexeme,
            Lexeme::Close(Closer::End | Closer::Until) | Lexeme::Else | Lexeme::ElseIf
        );
        if ends_return && self.nesting.take_return() {
            draft.insert(token.start, "end ");
        }
        match token.lexeme {
            Lexeme::Open(opener) => self.nesting.on_open(opener, token)?,
            Lexeme::Close(closer) => self.nesting.on_close(closer, token)?,
            Lexeme::Else => self.nesting.on_branch("else", token)?,
            Lexeme::ElseIf => self.nesting.on_branch("elseif", token)?,
            Lexeme::Return => {
                self.nesting.on_return(token)?;
                draft.insert(token.start, "do ");
            }
            Lexeme::Break => {
                draft.insert(token.start, "do ");
                draft.insert(token.end, " end");
            }
            Lexeme::Name if RESERVED.contains(&&self.source[token.start..token.end]) => {
                return Err(self.error(token.start, TemplateProblem::ReservedName));
            }
            _ => {}
        }
        draft.calls |= token.lexeme.begins_arguments() && draft.last.lexeme.ends_callable();
        draft.last = token;
        Ok(())
    }

    fn finish(&mut self, mut draft: Draft, grammar: Grammar) -> Result<Fragment, TemplateError> {
        let last = draft.last;
        if grammar == Grammar::Values && last.lexeme.awaits_value() {
            return Err(self.error(last.start, TemplateProblem::UnfinishedCode));
        }
        draft.copy_to(last.end);
        draft.trim();
        if self.nesting.take_return() {
            draft.lua.push_str(" end");
        }
        Ok(Fragment { lua: draft.lua, line: draft.line, calls: draft.calls, last })
    }

    /// Lua would count a lone carriage return as a line, and treat it as a line feed.
    fn refuse_control_bytes(&self, inside: &Range<usize>) -> Result<(), TemplateError> {
        let code = &self.source.as_bytes()[inside.clone()];
        let is_bad = |at: &usize| match code[*at] {
            b'\r' => code.get(at + 1) != Some(&b'\n'),
            byte => byte == 0,
        };
        match (0..code.len()).find(is_bad) {
            Some(at) => Err(self.error(inside.start + at, TemplateProblem::ControlByte)),
            None => Ok(()),
        }
    }

    pub(crate) fn error(&self, offset: usize, what: TemplateProblem) -> TemplateError {
        TemplateError::at(self.source.as_bytes(), offset, what)
    }
}

/// A fragment that is being read.
#[derive(Debug)]
struct Draft<'a> {
    source: &'a str,
    lua: String,
    line: u32,
    calls: bool,
    last: Token,
    /// The offset up to which the page was copied.
    copied: usize,
}

impl<'a> Draft<'a> {
    fn new(source: &'a str, first: Token, line: u32) -> Draft<'a> {
        let last = Token { lexeme: Lexeme::Other, ..first };
        Draft { source, lua: String::new(), line, calls: false, last, copied: first.start }
    }

    /// Copies the page up to an offset.
    fn copy_to(&mut self, offset: usize) {
        if self.copied >= offset {
            return;
        }
        let copy = &self.source[self.copied..offset];
        self.lua.push_str(&copy.replace("%%>", "%>").replace("\r\n", "\n"));
        self.copied = offset;
    }

    /// Inserts generated text at an offset of the page.
    fn insert(&mut self, offset: usize, text: &str) {
        self.copy_to(offset);
        self.lua.push_str(text);
    }

    /// Removes the placeholders of comments after the last token.
    fn trim(&mut self) {
        let is_blank = |character: char| matches!(character, '\t'..='\r' | ' ');
        self.lua.truncate(self.lua.trim_end_matches(is_blank).len());
    }

    /// Leaves a comment out: blanks and its line breaks replace it.
    fn leave_out(&mut self, comment: Token) {
        self.insert(comment.start, " ");
        let breaks = line_breaks(&self.source.as_bytes()[comment.start..comment.end]);
        self.lua.extend((0..breaks).map(|_| '\n'));
        self.copied = comment.end;
    }
}
