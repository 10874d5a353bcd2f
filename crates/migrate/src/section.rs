//! A section of the printed configuration: its comments and keys.
//!
//! Owns which keys can be left out without letting anybody in. Never knows what is a valid section.

use crate::word::{comment, is_in, key};

/// One section, or the keys at the top.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    /// `[[route]]`; empty at the top.
    header: String,
    /// Comments before it.
    notes: Vec<String>,
    lines: Vec<Line>,
    state: State,
}

/// Whether a section is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// As it is.
    #[default]
    Live,
    /// A route that answers 501 in place of what it could not do.
    Closed,
    /// As comments.
    Out,
}

/// One key with its value as printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    key: String,
    value: String,
    is_out: bool,
}

/// The keys that say which requests a route takes.
const MATCHERS: &str = "path prefix glob methods host when";

/// The keys without which nothing is let in or served that was not: fields of answers, logs, pages of errors.
const SPARE: &str = "
    headers cache_control error_pages log user schedulers drain_deadline access format level root cache
";

impl Line {
    /// Whether a route without it would take other requests.
    pub(crate) fn is_matcher(&self) -> bool {
        is_in(MATCHERS, &self.key)
    }

    /// The line as printed.
    pub(crate) fn printed(&self) -> String {
        format!("{} = {}", key(&self.key), self.value)
    }

    pub(crate) fn is_out(&self) -> bool {
        self.is_out
    }
}

impl Section {
    pub(crate) fn new(header: &str) -> Self {
        Self { header: header.to_owned(), ..Self::default() }
    }

    pub(crate) fn header(&self) -> &str {
        &self.header
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn set_state(&mut self, state: State) {
        self.state = state;
    }

    pub(crate) fn is_route(&self) -> bool {
        self.header.ends_with("route]]")
    }

    /// Comments a line out, if that changes nothing but what answers look like. `false`: the section needs it.
    pub(crate) fn spare(&mut self, line: usize) -> bool {
        let is_setting = matches!(&*self.header, "[limits]" | "[log]");
        let in_route = self.is_route();
        let Some(line) = self.lines.get_mut(line) else { return false };
        let is_spare = is_in(SPARE, &line.key) && !(in_route && line.key == "access");
        line.is_out = is_setting || is_spare;
        line.is_out
    }

    /// Sets a key; `value` is as printed.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.lines.iter_mut().find(|line| line.key == key) {
            Some(line) => line.value = value,
            None => self.lines.push(Line { key: key.to_owned(), value, is_out: false }),
        }
    }

    /// Puts a key before all others.
    pub(crate) fn put_first(&mut self, key: &str, value: String) {
        self.lines.insert(0, Line { key: key.to_owned(), value, is_out: false });
    }

    /// The value of a key, as printed.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|line| line.key == key).map(|line| line.value.as_str())
    }

    /// Adds a comment.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        let text = comment(text.as_ref());
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Whether it has nothing to print.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.notes.is_empty()
    }
}
