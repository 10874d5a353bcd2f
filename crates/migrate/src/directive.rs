//! A directive of either program: words, perhaps a block, and the place where it stands.
//!
//! Owns the shape, and how much is included. The syntaxes differ: `nginx::syntax` and `caddy::syntax` read them.

use crate::limits::{DEPTH_MAX, INCLUDED_SIZE_MAX, INCLUDES_MAX};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Directive {
    words: Vec<String>,
    /// `None`: it has no block.
    block: Option<Vec<Directive>>,
    file: String,
    line: usize,
    /// The reason, if it stands for text that could not be read.
    failure: Option<String>,
}

impl Directive {
    pub(crate) fn new(words: Vec<String>, file: &str, line: usize) -> Self {
        Self { words, file: file.to_owned(), line, ..Self::default() }
    }

    pub(crate) fn with_block(mut self, block: Vec<Self>) -> Self {
        self.block = Some(block);
        self
    }

    /// An include or import that could not be read, and so may have said anything.
    pub(crate) fn failed(mut self, why: String) -> Self {
        self.failure = Some(why);
        self
    }

    /// The same directive with other words.
    pub(crate) fn with_words(mut self, words: Vec<String>) -> Self {
        self.words = words;
        self
    }

    pub(crate) fn set_block(&mut self, block: Vec<Self>) {
        self.block = Some(block);
    }

    pub(crate) fn take_block(&mut self) -> Option<Vec<Self>> {
        self.block.take()
    }

    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The words behind its name.
    pub(crate) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// An argument; empty if it is not there.
    pub(crate) fn argument(&self, index: usize) -> &str {
        self.arguments().get(index).map_or("", String::as_str)
    }

    /// Whether it has a block, even an empty one.
    pub(crate) fn has_block(&self) -> bool {
        self.block.is_some()
    }

    /// The directives of its block.
    pub(crate) fn inner(&self) -> &[Self] {
        self.block.as_deref().unwrap_or_default()
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Its words with its place, for a comment.
    pub(crate) fn told(&self, why: &str) -> String {
        let words: String = self.words.join(" ").chars().take(80).collect();
        let why = self.failure.as_deref().unwrap_or(why);
        format!("{}:{}: `{words}`: {why}", self.file, self.line)
    }

    /// The same without its place.
    pub(crate) fn unknown(&self) -> String {
        self.told("no counterpart")
    }

    /// The same without its block.
    pub(crate) fn head(&self) -> Self {
        Self { block: None, ..self.clone() }
    }
}

/// The number and size of the included files, and those that are open: a file or snippet does not include itself.
#[derive(Debug, Default)]
pub(crate) struct Inclusion {
    count: usize,
    size: usize,
    open: Vec<String>,
}

impl Inclusion {
    /// Begins to include a file or snippet.
    ///
    /// # Errors
    /// Why it is not included, in words.
    pub(crate) fn open(&mut self, name: &str) -> Result<(), String> {
        self.count += 1;
        if self.open.iter().any(|open| open == name) {
            return Err("it includes itself".to_owned());
        }
        if self.count > INCLUDES_MAX || self.open.len() >= DEPTH_MAX {
            return Err("there are too many included files".to_owned());
        }
        self.open.push(name.to_owned());
        Ok(())
    }

    /// Counts the bytes that were read of it.
    ///
    /// # Errors
    /// If all together is too long.
    pub(crate) fn add(&mut self, size: usize) -> Result<(), String> {
        self.size = self.size.saturating_add(size);
        if self.size > INCLUDED_SIZE_MAX {
            return Err("the included files are too long".to_owned());
        }
        Ok(())
    }

    /// The directives that may still be added.
    pub(crate) fn left(&self) -> usize {
        INCLUDED_SIZE_MAX.saturating_sub(self.size)
    }

    /// Ends the file or snippet that was opened last.
    pub(crate) fn close(&mut self) {
        self.open.pop();
    }
}
