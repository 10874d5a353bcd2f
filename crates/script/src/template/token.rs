//! The tokens of Lua, as LuaJIT reads them, as far as a page must know them.
//!
//! Owns where strings, comments and names begin and end. Never judges whether code is valid Lua:
//! everything else is left to Lua's compiler.

use crate::template::error::{TemplateError, TemplateProblem};

/// A word or sign that opens a block or a bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opener {
    Function,
    Do,
    If,
    Repeat,
    Parenthesis,
    Bracket,
    Brace,
}

impl Opener {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Opener::Function => "function",
            Opener::Do => "do",
            Opener::If => "if",
            Opener::Repeat => "repeat",
            Opener::Parenthesis => "(",
            Opener::Bracket => "[",
            Opener::Brace => "{",
        }
    }

    /// Whether it is a bracket, inside which no statement is allowed.
    pub(crate) fn is_bracket(self) -> bool {
        matches!(self, Opener::Parenthesis | Opener::Bracket | Opener::Brace)
    }
}

/// A word or sign that closes a block or a bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closer {
    End,
    Until,
    Parenthesis,
    Bracket,
    Brace,
}

impl Closer {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Closer::End => "end",
            Closer::Until => "until",
            Closer::Parenthesis => ")",
            Closer::Bracket => "]",
            Closer::Brace => "}",
        }
    }

    /// Whether it closes what `opener` opened.
    pub(crate) fn closes(self, opener: Opener) -> bool {
        match self {
            Closer::End => matches!(opener, Opener::Function | Opener::Do | Opener::If),
            Closer::Until => opener == Opener::Repeat,
            Closer::Parenthesis => opener == Opener::Parenthesis,
            Closer::Bracket => opener == Opener::Bracket,
            Closer::Brace => opener == Opener::Brace,
        }
    }
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lexeme {
    Comment,
    Open(Opener),
    Close(Closer),
    Else,
    ElseIf,
    Return,
    Break,
    Comma,
    /// An operator or word that must be followed by a value.
    Operator,
    /// `?.`, which must be followed by a name or by what may follow a name, including the arguments of a call.
    Navigation,
    /// A name, or a word that is a value.
    Name,
    Text,
    /// Numbers, and everything that needs no handling.
    Other,
}

impl Lexeme {
    /// Whether a value must follow.
    pub(crate) fn awaits_value(self) -> bool {
        matches!(
            self,
            Lexeme::Operator
                | Lexeme::Navigation
                | Lexeme::Comma
                | Lexeme::ElseIf
                | Lexeme::Open(Opener::If)
                | Lexeme::Close(Closer::Until)
        )
    }

    /// Whether it ends something that can be called.
    pub(crate) fn ends_callable(self) -> bool {
        use Closer::{Brace, Bracket, Parenthesis};
        matches!(
            self,
            Lexeme::Name
                | Lexeme::Text
                | Lexeme::Navigation
                | Lexeme::Close(Parenthesis | Bracket | Brace)
        )
    }

    /// Whether it begins the arguments of a call, after something that can be called.
    pub(crate) fn begins_arguments(self) -> bool {
        matches!(
            self,
            Lexeme::Text | Lexeme::Open(Opener::Parenthesis) | Lexeme::Open(Opener::Brace)
        )
    }

    fn of_word(word: &[u8]) -> Lexeme {
        match word {
            b"function" => Lexeme::Open(Opener::Function),
            b"do" => Lexeme::Open(Opener::Do),
            b"if" => Lexeme::Open(Opener::If),
            b"repeat" => Lexeme::Open(Opener::Repeat),
            b"end" => Lexeme::Close(Closer::End),
            b"until" => Lexeme::Close(Closer::Until),
            b"else" => Lexeme::Else,
            b"elseif" => Lexeme::ElseIf,
            b"return" => Lexeme::Return,
            b"break" => Lexeme::Break,
            b"and" | b"or" | b"not" | b"in" | b"while" => Lexeme::Operator,
            b"then" | b"local" | b"for" => Lexeme::Other,
            _ => Lexeme::Name,
        }
    }

    fn of_sign(sign: u8) -> Lexeme {
        match sign {
            b'(' => Lexeme::Open(Opener::Parenthesis),
            b'[' => Lexeme::Open(Opener::Bracket),
            b'{' => Lexeme::Open(Opener::Brace),
            b')' => Lexeme::Close(Closer::Parenthesis),
            b']' => Lexeme::Close(Closer::Bracket),
            b'}' => Lexeme::Close(Closer::Brace),
            b',' => Lexeme::Comma,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'^' | b'#' | b'<' | b'>' | b'=' | b'!' | b'&'
            | b'|' | b'~' => Lexeme::Operator,
            _ => Lexeme::Other,
        }
    }
}

/// A token, by its offsets in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) lexeme: Lexeme,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Reads the tokens of one tag's code.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    /// The page up to the end of the tag's code, so that offsets are those of the page.
    code: &'a [u8],
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Reads from `start` to the end of `code`.
    pub(crate) fn new(code: &'a str, start: usize) -> Lexer<'a> {
        Lexer { code: code.as_bytes(), at: start }
    }

    /// The next token, including comments; `None` at the end of the code.
    pub(crate) fn next_token(&mut self) -> Result<Option<Token>, TemplateError> {
        self.skip(|byte| byte.is_ascii_whitespace() || byte == 0x0B);
        let start = self.at;
        let Some(first) = self.peek(0) else { return Ok(None) };
        let lexeme = match first {
            b'-' if self.peek(1) == Some(b'-') => self.comment()?,
            b'"' | b'\'' => self.string(first)?,
            b'[' if self.long_bracket_level().is_some() => {
                self.long_bracket(start)?;
                Lexeme::Text
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            b'.' => self.dots(),
            b'?' => self.question(),
            b'<' if self.peek(1) == Some(b'%') => {
                return Err(self.error_at(start, TemplateProblem::TagWithinCode));
            }
            _ if is_name(first) => {
                self.skip(is_name);
                Lexeme::of_word(&self.code[start..self.at])
            }
            _ => {
                self.at += 1;
                Lexeme::of_sign(first)
            }
        };
        Ok(Some(Token { lexeme, start, end: self.at }))
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.code.get(self.at + ahead).copied()
    }

    fn skip(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&belongs) {
            self.at += 1;
        }
    }

    fn error_at(&self, offset: usize, what: TemplateProblem) -> TemplateError {
        TemplateError::at(self.code, offset, what)
    }

    fn comment(&mut self) -> Result<Lexeme, TemplateError> {
        let start = self.at;
        self.at += 2;
        if self.long_bracket_level().is_some() {
            self.long_bracket(start)?;
        } else {
            self.skip(|byte| byte != b'\n');
        }
        Ok(Lexeme::Comment)
    }

    fn string(&mut self, quote: u8) -> Result<Lexeme, TemplateError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                None | Some(b'\n') => {
                    return Err(self.error_at(start, TemplateProblem::UnfinishedString));
                }
                Some(b'\\') => self.escape(),
                Some(byte) => {
                    self.at += 1;
                    if byte == quote {
                        return Ok(Lexeme::Text);
                    }
                }
            }
        }
    }

    /// A backslash and what belongs to it, which may be line breaks.
    fn escape(&mut self) {
        let length = match (self.peek(1), self.peek(2)) {
            (Some(b'\r'), Some(b'\n')) => 3,
            (None, _) => 1,
            _ => 2,
        };
        let skips_space = self.peek(1) == Some(b'z');
        self.at += length;
        if skips_space {
            self.skip(|byte| byte.is_ascii_whitespace() || byte == 0x0B);
        }
    }

    /// The number of equals signs of the long bracket that begins here; `None` if there is none.
    fn long_bracket_level(&self) -> Option<usize> {
        let rest = self.code.get(self.at..)?.strip_prefix(b"[")?;
        let level = rest.iter().take_while(|byte| **byte == b'=').count();
        (rest.get(level) == Some(&b'[')).then_some(level)
    }

    /// Skips a long bracket; `start` is where the string or comment begins.
    fn long_bracket(&mut self, start: usize) -> Result<(), TemplateError> {
        let level = self.long_bracket_level().unwrap_or_default();
        let inside = self.at + level + 2;
        let rest = self.code.get(inside..).unwrap_or_default();
        let is_end = |window: &[u8]| {
            window.first() == Some(&b']')
                && window.last() == Some(&b']')
                && window[1..=level].iter().all(|byte| *byte == b'=')
        };
        let Some(found) = rest.windows(level + 2).position(is_end) else {
            return Err(self.error_at(start, TemplateProblem::UnfinishedLongBracket));
        };
        self.at = inside + found + level + 2;
        Ok(())
    }

    /// A number, or what LuaJIT considers a malformed one.
    fn number(&mut self) -> Lexeme {
        let is_hexadecimal =
            self.peek(0) == Some(b'0') && matches!(self.peek(1), Some(b'x' | b'X'));
        let exponent = if is_hexadecimal { b'p' } else { b'e' };
        let mut last = 0;
        while let Some(byte) = self.peek(0) {
            let is_sign = matches!(byte, b'+' | b'-') && last | 0x20 == exponent;
            if !is_name(byte) && byte != b'.' && !is_sign {
                break;
            }
            last = byte;
            self.at += 1;
        }
        Lexeme::Other
    }

    /// `?.`, `??` or the `?` of a conditional.
    fn question(&mut self) -> Lexeme {
        let second = self.peek(1);
        self.at += if matches!(second, Some(b'.' | b'?')) { 2 } else { 1 };
        if second == Some(b'.') { Lexeme::Navigation } else { Lexeme::Operator }
    }

    /// A point, a concatenation or the three dots of variable arguments.
    fn dots(&mut self) -> Lexeme {
        let count = (0..3).take_while(|ahead| self.peek(*ahead) == Some(b'.')).count();
        self.at += count;
        if count == 3 { Lexeme::Other } else { Lexeme::Operator }
    }
}

/// Whether a byte is allowed in a name: letters, digits, `_`, and everything that is not ASCII.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
