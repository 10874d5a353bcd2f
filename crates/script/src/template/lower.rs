//! From a page to the text of a Lua function that prints it.
//!
//! Owns the order of the stages: split, read, write. Invariant: the Lua text has as many lines as
//! the page, and everything is on its own line.

use crate::limits::PAGE_BYTES_MAX;
use crate::template::code::Reader;
use crate::template::error::{TemplateError, TemplateProblem};
use crate::template::escape::Escape;
use crate::template::split::{Kind, Piece, Splitter, Tag};
use crate::template::token::Token;
use crate::template::write::{Printing, Writer};

/// A page as Lua text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered {
    /// A chunk that returns a function with six arguments: the output, which has a method `put` for any
    /// number of strings; the function that converts a value to an escaped string, and the one that converts it
    /// unescaped; `request`, `response` and `arguments`, which page code uses by these names.
    /// Lines are those of the page.
    pub lua: String,
}

/// Generates the Lua text of a page. Nothing is run, and text that Lua's compiler would refuse may get through.
pub fn lower(source: &[u8], escape: Escape) -> Result<Lowered, TemplateError> {
    if source.len() > PAGE_BYTES_MAX {
        return Err(TemplateError::at(source, PAGE_BYTES_MAX, TemplateProblem::PageTooLong));
    }
    let source = source.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(source);
    let text = std::str::from_utf8(source).map_err(|error| {
        TemplateError::at(source, error.valid_up_to(), TemplateProblem::NotUtf8)
    })?;
    let mut lowering = Lowering::new(text, escape);
    let mut splitter = Splitter::new(text);
    while let Some(piece) = splitter.next_piece()? {
        match piece {
            Piece::Text(range) => lowering.text(&text[range.clone()], range.start)?,
            Piece::Tag(tag) => lowering.tag(&tag)?,
        }
    }
    lowering.finish(text.len())
}

#[derive(Debug)]
struct Lowering<'a> {
    escape: Escape,
    reader: Reader<'a>,
    writer: Writer,
    /// The last token of code, unless something was printed after it.
    last: Option<Token>,
}

impl<'a> Lowering<'a> {
    fn new(source: &'a str, escape: Escape) -> Lowering<'a> {
        Lowering {
            escape,
            reader: Reader::new(source),
            writer: Writer::new(source.len()),
            last: None,
        }
    }

    fn text(&mut self, text: &str, offset: usize) -> Result<(), TemplateError> {
        self.before_printing(offset)?;
        let line = self.reader.counter.line(offset);
        self.writer.text(text, line);
        Ok(())
    }

    fn tag(&mut self, tag: &Tag) -> Result<(), TemplateError> {
        match tag.kind {
            Kind::Comment => Ok(()),
            Kind::Code => {
                if let Some(code) = self.reader.statements(tag)? {
                    self.writer.code(&code);
                    self.last = Some(code.last);
                }
                Ok(())
            }
            Kind::Value if self.escape == Escape::Markup => self.values(tag, Printing::Escaped),
            Kind::Value | Kind::RawValue => self.values(tag, Printing::Raw),
        }
    }

    fn values(&mut self, tag: &Tag, printing: Printing) -> Result<(), TemplateError> {
        self.before_printing(tag.opened_at)?;
        for value in self.reader.values(tag)? {
            self.writer.value(printing, &value);
        }
        Ok(())
    }

    /// Printing is a statement, so the code before it must be a complete statement.
    fn before_printing(&mut self, offset: usize) -> Result<(), TemplateError> {
        self.reader.nesting.assert_statement(offset)?;
        match self.last.take() {
            Some(last) if last.lexeme.awaits_value() => {
                Err(self.reader.error(last.start, TemplateProblem::UnfinishedCode))
            }
            _ => Ok(()),
        }
    }

    fn finish(mut self, length: usize) -> Result<Lowered, TemplateError> {
        self.reader.nesting.assert_level()?;
        let line = self.reader.counter.line(length);
        Ok(Lowered { lua: self.writer.finish(line) })
    }
}
