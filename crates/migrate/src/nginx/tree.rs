//! The syntax of nginx: words, quotes, comments, directives that end with `;` or have a block, and included files.
//!
//! Owns places: every directive knows its file and line. Never knows what a directive means.

use crate::limits::{DEPTH_MAX, INCLUDES_MAX, TEXT_SIZE_MAX, WORDS_MAX};
use crate::{Files, SyntaxError};

/// A directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directive {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    /// `None`: it ends with `;`.
    pub(super) block: Option<Vec<Directive>>,
    /// `nginx.conf:12`.
    pub(super) place: String,
}

impl Directive {
    /// An argument; empty if it is not there.
    pub(super) fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }

    /// The directives of its block.
    pub(super) fn inner(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }

    /// Its name and arguments with its place, for a comment.
    pub(super) fn told(&self, why: &str) -> String {
        let words = [std::slice::from_ref(&self.name), &self.arguments].concat().join(" ");
        let words: String = words.chars().take(80).collect();
        format!("{}: `{words}`: {why}", self.place)
    }
}

/// A word or a sign of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Semicolon,
    Open,
    Close,
}

/// The directives of a text.
pub(super) fn parse(text: &str, file: &str) -> Result<Vec<Directive>, SyntaxError> {
    let error = |line, what| SyntaxError { file: file.to_owned(), line, what };
    if text.len() > TEXT_SIZE_MAX {
        return Err(error(1, "the file is too long"));
    }
    let tokens = tokens(text).map_err(|(line, what)| error(line, what))?;
    // The directives of each block that is open. The last of one is the head of the next.
    let mut open: Vec<Vec<Directive>> = vec![Vec::new()];
    let mut words: Vec<String> = Vec::new();
    let (mut first, mut last) = (1, 1);
    for (token, line) in tokens {
        last = line;
        match token {
            Token::Word(word) => {
                if words.is_empty() {
                    first = line;
                }
                words.push(word);
            }
            Token::Semicolon | Token::Open => {
                let mut words = std::mem::take(&mut words).into_iter();
                let name = words.next().filter(|_| open.len() <= DEPTH_MAX);
                let name = name.ok_or_else(|| {
                    error(line, "there is no directive before `;` or `{`, or too many blocks")
                })?;
                let place = format!("{file}:{first}");
                let directive = Directive { name, arguments: words.collect(), block: None, place };
                if let Some(list) = open.last_mut() {
                    list.push(directive);
                }
                if token == Token::Open {
                    open.push(Vec::new());
                }
            }
            Token::Close => {
                if !words.is_empty() {
                    return Err(error(first, "the directive does not end with `;`"));
                }
                let inner = open.pop().unwrap_or_default();
                let Some(head) = open.last_mut().and_then(|list| list.last_mut()) else {
                    return Err(error(line, "there is a `}` too many"));
                };
                head.block = Some(inner);
            }
        }
    }
    if !words.is_empty() {
        return Err(error(first, "the directive does not end with `;`"));
    }
    match (open.pop(), open.is_empty()) {
        (Some(list), true) => Ok(list),
        _ => Err(error(last, "a block does not end")),
    }
}

/// The tokens with their lines.
fn tokens(text: &str) -> Result<Vec<(Token, usize)>, (usize, &'static str)> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '\n' => line += 1,
            _ if first.is_whitespace() => {}
            '#' => {
                rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default();
                continue;
            }
            ';' => tokens.push((Token::Semicolon, line)),
            '{' => tokens.push((Token::Open, line)),
            '}' => tokens.push((Token::Close, line)),
            '"' | '\'' => {
                let began = line;
                let (word, behind) =
                    quoted(after, first, &mut line).ok_or((began, "a quote does not end"))?;
                tokens.push((Token::Word(word), began));
                rest = behind;
                continue;
            }
            _ => {
                let (word, behind) = bare(rest);
                tokens.push((Token::Word(word), line));
                rest = behind;
                continue;
            }
        }
        rest = after;
    }
    Ok(tokens)
}

/// A text up to its quote, and what follows. A backslash keeps the sign behind it, and itself before any other.
fn quoted<'t>(text: &'t str, quote: char, line: &mut usize) -> Option<(String, &'t str)> {
    let mut word = String::new();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' => match signs.next()?.1 {
                next @ ('"' | '\'' | '\\') => word.push(next),
                't' => word.push('\t'),
                'r' => word.push('\r'),
                'n' => word.push('\n'),
                next => word.extend(['\\', next]),
            },
            sign if sign == quote => return Some((word, text.get(at + sign.len_utf8()..)?)),
            sign => {
                *line += usize::from(sign == '\n');
                word.push(sign);
            }
        }
    }
    None
}

/// A word without quotes, and what follows. `${name}` is part of a word.
fn bare(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut signs = text.char_indices();
    let mut is_variable = false;
    while let Some((at, sign)) = signs.next() {
        match sign {
            '{' if word.ends_with('$') => is_variable = true,
            '}' if is_variable => is_variable = false,
            ';' | '{' | '}' => return (word, text.get(at..).unwrap_or_default()),
            sign if sign.is_whitespace() => return (word, text.get(at..).unwrap_or_default()),
            '\\' => {
                word.push('\\');
                match signs.next() {
                    // The line break behind a backslash ends no line number of ours.
                    Some((_, '\n')) | None => continue,
                    Some((_, next)) => word.push(next),
                }
                continue;
            }
            _ => {}
        }
        word.push(sign);
    }
    (word, "")
}

/// Included files, each once in a chain.
pub(super) struct Includer<'f> {
    files: &'f dyn Files,
    count: usize,
    words: usize,
    /// The includes that could not be read.
    pub(super) notes: Vec<String>,
}

impl<'f> Includer<'f> {
    pub(super) fn new(files: &'f dyn Files) -> Self {
        Self { files, count: 0, words: 0, notes: Vec::new() }
    }

    /// Puts the directives of included files in place of each `include`.
    pub(super) fn expand(
        &mut self,
        directives: Vec<Directive>,
        depth: usize,
    ) -> Result<Vec<Directive>, SyntaxError> {
        let mut all = Vec::new();
        for mut directive in directives {
            if let Some(block) = directive.block.take() {
                directive.block = Some(self.expand(block, depth + 1)?);
            }
            if directive.name != "include" {
                all.push(directive);
                continue;
            }
            let pattern = directive.argument(0).to_owned();
            // Our own list of media types, and what is for other programs.
            if ["mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params"]
                .iter()
                .any(|known| pattern.rsplit('/').next() == Some(known))
            {
                continue;
            }
            self.count += 1;
            let found = match self.count {
                count if count > INCLUDES_MAX || depth > DEPTH_MAX || self.words > WORDS_MAX => {
                    Err("there are too many included files".to_owned())
                }
                _ => self.files.matching(&pattern),
            };
            match found {
                Ok(found) => {
                    for (name, text) in found {
                        self.words += text.len() / 8;
                        all.extend(self.expand(parse(&text, &name)?, depth + 1)?);
                    }
                }
                Err(why) => self.notes.push(directive.told(&why)),
            }
        }
        Ok(all)
    }
}
