//! The last stage: Lua text, statement by statement, each on its line of the page.
//!
//! Owns string literals, calls that print, and the line breaks between them. Never breaks a line
//! where the page does not.

use crate::limits::{LITERAL_BYTES_MAX, PUT_ARGUMENTS_MAX};
use crate::template::code::Fragment;
use crate::template::place::line_breaks;

/// The function around a page's code. Its parameters are what a run of the page gets.
const HEAD: &str = "return function(__output, __escaped, __raw, request, response, arguments) ";

/// How a value is converted to text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printing {
    Escaped,
    Raw,
}

/// Writes the Lua text of one page.
#[derive(Debug)]
pub(crate) struct Writer {
    lua: String,
    /// The line being written.
    line: u32,
    /// Arguments of the call being written; 0 if there is none.
    arguments: usize,
    /// Bytes of text in the literal being written, if there is one.
    literal_bytes: Option<usize>,
}

impl Writer {
    /// Begins a page of that many bytes.
    pub(crate) fn new(page_bytes: usize) -> Writer {
        let mut lua = String::with_capacity(HEAD.len() + page_bytes + page_bytes / 4);
        lua.push_str(HEAD);
        Writer { lua, line: 1, arguments: 0, literal_bytes: None }
    }

    /// Prints text that begins in that line of the page.
    pub(crate) fn text(&mut self, text: &str, line: u32) {
        for character in text.chars() {
            let bytes = self.literal_bytes.filter(|bytes| *bytes < LITERAL_BYTES_MAX);
            let bytes = bytes.unwrap_or_else(|| {
                self.begin_argument(line);
                self.lua.push('"');
                0
            });
            self.literal_bytes = Some(bytes + character.len_utf8());
            self.push_escaped(character);
        }
    }

    pub(crate) fn value(&mut self, printing: Printing, value: &Fragment) {
        // All arguments are computed before the first is printed. Anything that a call prints by itself (an
        // included part, a function with text in it) must come after the text before the tag.
        if value.calls {
            self.end_statement();
        }
        self.begin_argument(value.line);
        self.lua.push_str(match printing {
            Printing::Escaped => "__escaped(",
            Printing::Raw => "__raw(",
        });
        self.push_code(&value.lua);
        self.lua.push(')');
    }

    /// Copies statements.
    pub(crate) fn code(&mut self, code: &Fragment) {
        self.end_statement();
        self.move_to(code.line);
        self.push_code(&code.lua);
        self.lua.push(' ');
    }

    /// The text, for a page that ends in that line.
    pub(crate) fn finish(mut self, line: u32) -> String {
        self.end_statement();
        self.move_to(line);
        self.lua.push_str("end");
        self.lua
    }

    fn begin_argument(&mut self, line: u32) {
        if self.arguments == PUT_ARGUMENTS_MAX {
            self.end_statement();
        }
        self.end_literal();
        if self.arguments == 0 {
            self.move_to(line);
            self.lua.push_str("__output:put(");
        } else {
            self.lua.push(',');
            self.move_to(line);
        }
        self.arguments += 1;
    }

    fn end_literal(&mut self) {
        if self.literal_bytes.take().is_some() {
            self.lua.push('"');
        }
    }

    fn end_statement(&mut self) {
        self.end_literal();
        if self.arguments > 0 {
            // The semicolon prevents the next statement from continuing this call.
            self.lua.push_str("); ");
            self.arguments = 0;
        }
    }

    fn move_to(&mut self, line: u32) {
        assert!(self.line <= line, "code has as many line breaks as in the page");
        self.lua.extend((self.line..line).map(|_| '\n'));
        self.line = line;
    }

    fn push_code(&mut self, code: &str) {
        self.line += line_breaks(code.as_bytes());
        self.lua.push_str(code);
    }

    fn push_escaped(&mut self, character: char) {
        match character {
            '"' => self.lua.push_str("\\\""),
            '\\' => self.lua.push_str("\\\\"),
            '\n' => self.lua.push_str("\\n"),
            '\0'..='\x1F' | '\x7F' => {
                let number = u32::from(character);
                let digits = [number / 100, number / 10 % 10, number % 10];
                self.lua.push('\\');
                self.lua.extend(digits.into_iter().filter_map(|digit| char::from_digit(digit, 10)));
            }
            _ => self.lua.push(character),
        }
    }
}
