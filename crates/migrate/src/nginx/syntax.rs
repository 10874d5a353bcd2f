//! The syntax of nginx: words, quotes, comments, directives that end with `;` or have a block, and included files.
//!
//! Owns what an include puts in its place. Never knows what a directive means.

use crate::directive::{Directive, Inclusion};
use crate::limits::{DEPTH_MAX, TEXT_SIZE_MAX};
use crate::quoted::quoted;
use crate::{IncludedFiles, SyntaxError};

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
    let error = |line, what| SyntaxError::new(file, line, what);
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
                if words.is_empty() || open.len() > DEPTH_MAX {
                    let what = "there is no directive before `;` or `{`, or too many blocks";
                    return Err(error(line, what));
                }
                let directive = Directive::new(std::mem::take(&mut words), file, first);
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
                head.set_block(inner);
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

/// Characters behind a backslash that mean another one in a quoted word.
const ESCAPES: [(char, char); 6] =
    [('"', '"'), ('\'', '\''), ('\\', '\\'), ('t', '\t'), ('r', '\r'), ('n', '\n')];

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
                let (word, behind) = quoted(after, first, &ESCAPES, &mut line)
                    .ok_or((began, "a quote does not end"))?;
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

/// Files that say nothing that a configuration of ours would: media types, and what is for other protocols.
const SPARE_FILES: [&str; 5] =
    ["mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params"];

/// Included files.
pub(super) struct Includer<'f> {
    files: &'f dyn IncludedFiles,
    /// The main file, to which all names are relative.
    main: &'f str,
    inclusion: Inclusion,
}

impl<'f> Includer<'f> {
    pub(super) fn new(files: &'f dyn IncludedFiles, main: &'f str) -> Self {
        Self { files, main, inclusion: Inclusion::default() }
    }

    /// Puts the directives of included files in place of each `include`. One that cannot be read stays, with the
    /// reason.
    pub(super) fn expand(
        &mut self,
        directives: Vec<Directive>,
    ) -> Result<Vec<Directive>, SyntaxError> {
        let mut all = Vec::new();
        for mut directive in directives {
            if let Some(block) = directive.take_block() {
                let block = self.expand(block)?;
                directive.set_block(block);
            }
            let pattern = directive.argument(0).to_owned();
            if directive.name() != "include" {
                all.push(directive);
            } else if !SPARE_FILES.contains(&pattern.rsplit('/').next().unwrap_or_default()) {
                match self.include(&pattern)? {
                    Ok(inner) => all.extend(inner),
                    Err(why) => all.push(directive.failed(why)),
                }
            }
        }
        Ok(all)
    }

    /// The directives of the files of a pattern, or why there are none.
    fn include(&mut self, pattern: &str) -> Result<Result<Vec<Directive>, String>, SyntaxError> {
        if let Err(why) = self.inclusion.open(pattern) {
            return Ok(Err(why));
        }
        let mut all = Vec::new();
        let mut result = Ok(());
        match self.files.matching(self.main, pattern) {
            Ok(found) => {
                for (name, text) in found {
                    result = self.inclusion.add(text.len());
                    if result.is_err() {
                        break;
                    }
                    let inner = parse(&text, &name)?;
                    all.extend(self.expand(inner)?);
                }
            }
            Err(why) => result = Err(why),
        }
        self.inclusion.close();
        Ok(result.map(|()| all))
    }
}
