//! The syntax of Caddyfiles: words, quotes, comments, lines that end a directive, blocks in braces, snippets and
//! imports.
//!
//! Owns places: every directive knows its file and line. Never knows what a directive means.

use crate::limits::{DEPTH_MAX, INCLUDES_MAX, TEXT_SIZE_MAX, WORDS_MAX};
use crate::{Files, SyntaxError};

/// A line with its block: a directive, the head of a site, or the definition of a matcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directive {
    pub(super) words: Vec<String>,
    /// `None`: it has no block.
    pub(super) block: Option<Vec<Directive>>,
    /// `Caddyfile:12`.
    pub(super) place: String,
}

impl Directive {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The words behind its name.
    pub(super) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The lines of its block.
    pub(super) fn inner(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }

    /// Its words with its place, for a comment.
    pub(super) fn told(&self, why: &str) -> String {
        let words: String = self.words.join(" ").chars().take(80).collect();
        format!("{}: `{words}`: {why}", self.place)
    }
}

/// A word with its line, or the end of a line.
struct Token {
    word: String,
    line: usize,
    /// Whether it has quotes, and so is no brace.
    is_quoted: bool,
}

/// The lines of a text.
pub(super) fn parse(text: &str, file: &str) -> Result<Vec<Directive>, SyntaxError> {
    let error = |line, what| SyntaxError { file: file.to_owned(), line, what };
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
            head.block = Some(inner);
            continue;
        }
        let mut line = first.line;
        let place = format!("{file}:{line}");
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
                line = next.line;
                opens = is(&next, "{");
                if !opens {
                    words.push(next.word);
                }
            }
        }
        let Some(list) = open.last_mut() else { break };
        list.push(Directive { words, block: None, place });
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
                let (word, behind) =
                    quoted(after, first, &mut line).ok_or((began, "a quote does not end"))?;
                tokens.push(Token { word, line: began, is_quoted: true });
                rest = behind;
            }
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let (word, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
                tokens.push(Token { word: word.to_owned(), line, is_quoted: false });
                rest = behind;
            }
        }
    }
    Ok(tokens)
}

fn quoted<'t>(text: &'t str, quote: char, line: &mut usize) -> Option<(String, &'t str)> {
    let mut word = String::new();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' if quote == '"' => match signs.next()?.1 {
                '"' => word.push('"'),
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

/// Snippets and imported files.
pub(super) struct Importer<'f> {
    files: &'f dyn Files,
    snippets: Vec<(String, Vec<Directive>)>,
    count: usize,
    words: usize,
    pub(super) notes: Vec<String>,
}

impl<'f> Importer<'f> {
    pub(super) fn new(files: &'f dyn Files) -> Self {
        Self { files, snippets: Vec::new(), count: 0, words: 0, notes: Vec::new() }
    }

    /// Takes the snippets, `(name) { ... }`, out of a file.
    pub(super) fn without_snippets(&mut self, lines: Vec<Directive>) -> Vec<Directive> {
        let (snippets, others): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| {
            matches!(line.words.as_slice(), [name] if name.starts_with('(') && name.ends_with(')'))
        });
        for snippet in snippets {
            let name = snippet.name().trim_matches(['(', ')']).to_owned();
            self.snippets.push((name, snippet.block.unwrap_or_default()));
        }
        others
    }

    /// Puts snippets and files in place of each `import`.
    pub(super) fn expand(
        &mut self,
        lines: Vec<Directive>,
        depth: usize,
    ) -> Result<Vec<Directive>, SyntaxError> {
        let mut all = Vec::new();
        for mut line in lines {
            if let Some(block) = line.block.take() {
                line.block = Some(self.expand(block, depth + 1)?);
            }
            if line.name() != "import" {
                self.words += line.words.len();
                all.push(line);
                continue;
            }
            self.count += 1;
            let is_too_much =
                self.count > INCLUDES_MAX || depth > DEPTH_MAX || self.words > WORDS_MAX;
            let (name, arguments) = match line.arguments() {
                [name, arguments @ ..] if !is_too_much => (name.clone(), arguments.to_vec()),
                _ => {
                    self.notes.push(line.told("there is too much to import, or nothing"));
                    continue;
                }
            };
            let known = self.snippets.iter().find(|(known, _)| *known == name);
            if let Some((_, inner)) = known {
                let inner = inner.iter().map(|line| with_arguments(line, &arguments)).collect();
                all.extend(self.expand(inner, depth + 1)?);
                continue;
            }
            match self.files.matching(&name) {
                Ok(found) => {
                    for (name, text) in found {
                        let inner = parse(&text, &name)?;
                        let inner = self.without_snippets(inner);
                        let inner = inner.iter().map(|line| with_arguments(line, &arguments));
                        let inner = inner.collect();
                        all.extend(self.expand(inner, depth + 1)?);
                    }
                }
                Err(why) => self.notes.push(line.told(&why)),
            }
        }
        Ok(all)
    }
}

/// A line of a snippet, with `{args[0]}` and `{args.0}` put in.
fn with_arguments(line: &Directive, arguments: &[String]) -> Directive {
    let put_in = |word: &String| {
        arguments.iter().enumerate().fold(word.clone(), |word, (index, argument)| {
            word.replace(&format!("{{args[{index}]}}"), argument)
                .replace(&format!("{{args.{index}}}"), argument)
        })
    };
    Directive {
        words: line.words.iter().map(put_in).collect(),
        block: line
            .block
            .as_ref()
            .map(|block| block.iter().map(|line| with_arguments(line, arguments)).collect()),
        place: line.place.clone(),
    }
}
