//! The syntax of Caddyfiles: words, quotes, comments, lines that end a directive, blocks in braces, snippets and
//! imports.
//!
//! Owns what an import puts in its place. Never knows what a directive means.

use crate::directive::{Directive, Inclusion};
use crate::limits::{DEPTH_MAX, TEXT_SIZE_MAX};
use crate::quoted::quoted;
use crate::{IncludedFiles, SyntaxError};

/// A word with its line, or the end of a line.
struct Token {
    word: String,
    line: usize,
    /// The line of its end.
    end: usize,
    /// Whether it has quotes, and so is no brace.
    is_quoted: bool,
}

/// The lines of a text.
pub(super) fn parse(text: &str, file: &str) -> Result<Vec<Directive>, SyntaxError> {
    let error = |line, what| SyntaxError::new(file, line, what);
    if text.len() > TEXT_SIZE_MAX {
        return Err(error(1, "the file is too long"));
    }
    let tokens = tokens(text).map_err(|(line, what)| error(line, what))?;
    let mut open: Vec<Vec<Directive>> = vec![Vec::new()];
    let mut tokens = tokens.into_iter().peekable();
    let mut last = 1;
    while let Some(first) = tokens.next() {
        last = first.line;
        let is = |token: &Token, brace: &str| token.word == brace && !token.is_quoted;
        if is(&first, "}") {
            let inner = open.pop().unwrap_or_default();
            let Some(head) = open.last_mut().and_then(|list| list.last_mut()) else {
                return Err(error(first.line, "there is a `}` too many"));
            };
            head.set_block(inner);
            continue;
        }
        let mut line = first.end;
        let began = first.line;
        let mut words = Vec::new();
        let mut opens = is(&first, "{");
        if !opens {
            words.push(first.word);
            // A comma at the end of a line continues the names of a site.
            while !opens
                && let Some(next) = tokens.next_if(|next| {
                    next.line == line || words.last().is_some_and(|word| word.ends_with(','))
                })
            {
                line = next.end;
                opens = is(&next, "{");
                if !opens {
                    words.push(next.word);
                }
            }
        }
        let Some(list) = open.last_mut() else { break };
        list.push(Directive::new(words, file, began));
        if opens {
            if open.len() > DEPTH_MAX {
                return Err(error(line, "a block is in too many others"));
            }
            open.push(Vec::new());
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(list), true) => Ok(list),
        _ => Err(error(last, "a block does not end")),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, (usize, &'static str)> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut line = 1;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '\n' => {
                line += 1;
                rest = after;
            }
            // A backslash at the end of a line continues it.
            '\\' if after.starts_with('\n') => rest = after.get(1..).unwrap_or_default(),
            _ if first.is_whitespace() => rest = after,
            '#' => rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default(),
            '"' | '`' => {
                let began = line;
                let escapes: &[_] = if first == '"' { &[('"', '"')] } else { &[] };
                let (word, behind) = quoted(after, first, escapes, &mut line)
                    .ok_or((began, "a quote does not end"))?;
                tokens.push(Token { word, line: began, end: line, is_quoted: true });
                rest = behind;
            }
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let (word, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
                tokens.push(Token { word: word.to_owned(), line, end: line, is_quoted: false });
                rest = behind;
            }
        }
    }
    Ok(tokens)
}

/// Snippets and imported files.
pub(super) struct Importer<'f> {
    files: &'f dyn IncludedFiles,
    snippets: Vec<(String, Vec<Directive>)>,
    inclusion: Inclusion,
    /// The names of all files that were read.
    names: Vec<String>,
}

impl<'f> Importer<'f> {
    pub(super) fn new(files: &'f dyn IncludedFiles, main: &str) -> Self {
        let names = vec![main.to_owned()];
        Self { files, snippets: Vec::new(), inclusion: Inclusion::default(), names }
    }

    /// The names of all files that were read.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Takes the snippets, `(name) { ... }`, out of a file.
    pub(super) fn without_snippets(&mut self, lines: Vec<Directive>) -> Vec<Directive> {
        let (snippets, others): (Vec<_>, Vec<_>) = lines.into_iter().partition(
            |line| matches!(line.words(), [name] if name.starts_with('(') && name.ends_with(')')),
        );
        for mut snippet in snippets {
            let name = snippet.name().trim_matches(['(', ')']).to_owned();
            self.snippets.push((name, snippet.take_block().unwrap_or_default()));
        }
        others
    }

    /// Puts snippets and files in place of each `import`. One that cannot be read stays, with the reason.
    pub(super) fn expand(&mut self, lines: Vec<Directive>) -> Result<Vec<Directive>, SyntaxError> {
        let mut all = Vec::new();
        for mut line in lines {
            if line.name() == "import" {
                match self.import(&line)? {
                    Ok(inner) => all.extend(inner),
                    Err(why) => all.push(line.failed(why)),
                }
                continue;
            }
            if let Some(block) = line.take_block() {
                let block = self.expand(block)?;
                line.set_block(block);
            }
            all.push(line);
        }
        Ok(all)
    }

    fn import(&mut self, line: &Directive) -> Result<Result<Vec<Directive>, String>, SyntaxError> {
        let [name, arguments @ ..] = line.arguments() else {
            return Ok(Err("it has no name".to_owned()));
        };
        if line.has_block() {
            return Ok(Err("an import with a block has no counterpart".to_owned()));
        }
        if let Err(why) = self.inclusion.open(name) {
            return Ok(Err(why));
        }
        let found = self.imported(line.file(), name, arguments);
        let result = match found {
            Err(error) => Err(error),
            Ok(Err(why)) => Ok(Err(why)),
            Ok(Ok(lines)) => self.expand(lines).map(Ok),
        };
        self.inclusion.close();
        result
    }

    /// The lines of a snippet or of files, with the arguments put in.
    fn imported(
        &mut self,
        from: &str,
        name: &str,
        arguments: &[String],
    ) -> Result<Result<Vec<Directive>, String>, SyntaxError> {
        let known =
            self.snippets.iter().find(|(known, _)| known == name).map(|(_, lines)| lines.clone());
        let lines = match known {
            Some(lines) => lines,
            None => {
                let found = match self.files.matching(from, name) {
                    Ok(found) => found,
                    Err(why) => return Ok(Err(why)),
                };
                let mut all = Vec::new();
                for (name, text) in found {
                    let lines = parse(&text, &name)?;
                    self.names.push(name);
                    all.extend(self.without_snippets(lines));
                }
                all
            }
        };
        let mut left = self.inclusion.left();
        let filled = filled(&lines, arguments, &mut left);
        let size = self.inclusion.left() - left;
        Ok(match (filled, self.inclusion.add(size)) {
            (Some(lines), Ok(())) => Ok(lines),
            _ => Err("the imported lines are too long".to_owned()),
        })
    }
}

/// Lines with `{args[0]}` and `{args.0}` put in; `None` if that takes more than is left.
fn filled(lines: &[Directive], arguments: &[String], left: &mut usize) -> Option<Vec<Directive>> {
    let mut all = Vec::new();
    for line in lines {
        let mut words = Vec::new();
        for word in line.words() {
            match spread(word, arguments) {
                Some(several) => words.extend(several.iter().cloned()),
                None => words.push(filled_word(word, arguments, *left)?),
            }
        }
        let size: usize = words.iter().map(|word| word.len() + 8).sum();
        *left = left.checked_sub(size)?;
        let mut line = line.clone();
        let block = line.take_block();
        let mut line = line.with_words(words);
        if let Some(block) = block {
            line.set_block(filled(&block, arguments, left)?);
        }
        all.push(line);
    }
    Some(all)
}

/// The arguments of `{args[:]}`, which is a word of its own.
fn spread<'a>(word: &str, arguments: &'a [String]) -> Option<&'a [String]> {
    let inner = word.strip_prefix("{args[")?.strip_suffix("]}")?;
    let (from, to) = inner.split_once(':')?;
    let from = if from.is_empty() { 0 } else { from.parse().ok()? };
    let to = if to.is_empty() { arguments.len() } else { to.parse().ok()? };
    arguments.get(from..to)
}

fn filled_word(word: &str, arguments: &[String], size_max: usize) -> Option<String> {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("{args") {
        out.push_str(before);
        let end = after.find('}');
        let number = end.and_then(|end| after.get(..end)).and_then(|inner| {
            let inner =
                inner.strip_prefix('.').or_else(|| inner.strip_prefix('[')?.strip_suffix(']'))?;
            inner.parse::<usize>().ok()
        });
        match number.and_then(|number| arguments.get(number)).zip(end) {
            Some((argument, end)) => {
                out.push_str(argument);
                rest = after.get(end + 1..).unwrap_or_default();
            }
            None => {
                out.push_str("{args");
                rest = after;
            }
        }
        if out.len() > size_max {
            return None;
        }
    }
    out.push_str(rest);
    Some(out)
}
