//! One Rust file as the rules see it: its lines, and its code with comments and strings blanked out.
//!
//! Owns the little lexer for that. Never judges anything.

/// A Rust file. `lines` and `code` have the same number of entries.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
    /// The lines with the insides of comments, strings and characters replaced by blanks.
    pub(crate) code: Vec<String>,
    /// For each line, whether it lies in a `#[cfg(test)] mod`, or the file holds nothing but tests.
    pub(crate) in_test: Vec<bool>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let code: Vec<String> = blank_out(text).lines().map(str::to_owned).collect();
        let mut in_test = vec![is_test_file(path); lines.len()];
        if !is_test_file(path) {
            for (first, last) in test_modules(&code) {
                in_test[first..=last].fill(true);
            }
        }
        Source { path: path.to_owned(), lines, code, in_test }
    }

    /// Number of lines that are not in a `#[cfg(test)] mod`; for a file of tests, all of them.
    pub(crate) fn line_count(&self) -> usize {
        if is_test_file(&self.path) {
            return self.lines.len();
        }
        self.in_test.iter().filter(|in_test| !**in_test).count()
    }

    /// Lines of code with their numbers, counted from 1.
    pub(crate) fn numbered_code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }
}

/// Whether a whole file is test code, by its place or name.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.starts_with("tests/")
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
}

/// The words (identifiers and keywords) of a line of code, with the column each starts at.
pub(crate) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    // Plain loops over bytes: this tool is not optimised, and reads every line of the project several times.
    let (bytes, mut at) = (line.as_bytes(), 0);
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_word_byte(bytes[at]) {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && is_word_byte(bytes[at]) {
            at += 1;
        }
        (start < at).then(|| (start, &line[start..at]))
    })
}

/// Whether `word` stands in a line of code as a word of its own.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.contains(word) && words(line).any(|(_, found)| found == word)
}

/// Letters beyond ASCII belong to words.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

pub(crate) fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The line that holds the bracket closing the first `{` at or after (`line`, `column`), if any.
pub(crate) fn closing_line(code: &[String], line: usize, column: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, text) in code.iter().enumerate().skip(line) {
        let skip = if index == line { column } else { 0 };
        for character in text.get(skip..)?.chars() {
            match character {
                '{' => depth += 1,
                '}' => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(index);
                    }
                }
                _ => {}
            }
        }
    }
    None
}

/// First and last line (from 0) of each `#[cfg(test)] mod name { .. }` that starts in column 0.
fn test_modules(code: &[String]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (first, line) in code.iter().enumerate() {
        if !line.starts_with("#[cfg(test)]") && !line.starts_with("#[cfg(all(test") {
            continue;
        }
        let module = code.iter().enumerate().skip(first + 1).find(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("#[")
        });
        if let Some((at, line)) = module
            && line.starts_with("mod ")
            && line.contains('{')
            && let Some(last) = closing_line(code, at, 0)
        {
            found.push((first, last));
        }
    }
    found
}

/// The text with the insides of comments, strings and character literals as blanks.
fn blank_out(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut blanked = Blanker { characters: &characters, at: 0, output: String::new() };
    while blanked.at < characters.len() {
        blanked.step();
    }
    blanked.output
}

struct Blanker<'a> {
    characters: &'a [char],
    at: usize,
    output: String,
}

impl Blanker<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.characters.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn keep(&mut self) {
        self.output.push(self.peek(0));
        self.at += 1;
    }

    fn blank(&mut self) {
        // A blank is one byte, so columns of code are byte offsets.
        self.output.push(if self.peek(0) == '\n' { '\n' } else { ' ' });
        self.at += 1;
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('\'', _) => self.character_or_lifetime(),
            (first, _) if is_word_character(first) => self.word(),
            _ => self.keep(),
        }
    }

    fn more(&self) -> bool {
        self.at < self.characters.len()
    }

    fn line_comment(&mut self) {
        while self.more() && self.peek(0) != '\n' {
            self.blank();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0usize;
        while self.more() {
            let ends = match (self.peek(0), self.peek(1)) {
                ('/', '*') => {
                    depth += 1;
                    false
                }
                ('*', '/') => {
                    depth -= 1;
                    depth == 0
                }
                _ => {
                    self.blank();
                    continue;
                }
            };
            self.blank();
            self.blank();
            if ends {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.keep();
        while self.more() && self.peek(0) != '"' {
            if self.peek(0) == '\\' {
                self.blank();
            }
            if self.more() {
                self.blank();
            }
        }
        if self.more() {
            self.keep();
        }
    }

    fn raw_string(&mut self, hashes: usize) {
        for _ in 0..=hashes {
            self.keep();
        }
        while self.more() {
            let closes = self.peek(0) == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == '#');
            if closes {
                for _ in 0..=hashes {
                    self.keep();
                }
                return;
            }
            self.blank();
        }
    }

    fn character_or_lifetime(&mut self) {
        let is_character = self.peek(1) == '\\' || self.peek(2) == '\'';
        self.keep();
        if !is_character {
            return;
        }
        while self.more() && self.peek(0) != '\'' {
            if self.peek(0) == '\\' {
                self.blank();
            }
            if self.more() {
                self.blank();
            }
        }
        if self.more() {
            self.keep();
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while is_word_character(self.peek(0)) {
            if self.peek(0).is_ascii() {
                self.keep();
            } else {
                self.blank();
            }
        }
        let word: String = self.characters[start..self.at].iter().collect();
        if matches!(word.as_str(), "r" | "br" | "cr") {
            let hashes = (0..).take_while(|ahead| self.peek(*ahead) == '#').count();
            if self.peek(hashes) == '"' {
                self.raw_string(hashes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_blanked_and_lines_kept() {
        let text = "let a = \"unsafe \\\" {\"; // unsafe\nlet b = '{'; /* unsafe /* { */\n} */ let c = \
                    r#\"\"unsafe\"\n\"#; let d: &'a str; b'\\'' ; end";
        let source = Source::new("src/a.rs", text);
        assert_eq!(source.code.len(), source.lines.len());
        let code = source.code.join("\n");
        assert!(!code.contains("unsafe"), "{code}");
        assert!(!code.contains('{') && !code.contains('}'), "{code}");
        assert!(code.ends_with("end") && code.contains("&'a str"), "{code}");
    }

    #[test]
    fn words_are_whole() {
        let found: Vec<_> = words("unsafe_code(unsafe)").collect();
        assert_eq!(found, [(0, "unsafe_code"), (12, "unsafe")]);
        assert!(!has_word("unsafe_code", "unsafe"));
    }

    #[test]
    fn a_test_module_is_told_from_the_rest() {
        let text = "//! Head.\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() { }\n}\n";
        let source = Source::new("src/a.rs", text);
        assert_eq!(source.line_count(), 3);
        assert_eq!(source.in_test, [false, false, false, true, true, true, true]);
        assert_eq!(Source::new("tests/a.rs", text).line_count(), 7);
    }
}
