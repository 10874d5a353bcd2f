//! The things outside of its text to which a configuration refers: other files, and the environment.
//!
//! Owns the contract. This crate opens nothing itself: the server gives it a disk, a test a table.

use std::path::{Path, PathBuf};

/// The files and variables that a configuration may name.
pub trait Outside {
    /// The text of a regular file of at most so many bytes.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn text(&self, file: &Path, most: usize) -> Result<String, String>;

    /// The names of the files in a directory, in any order.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn names(&self, directory: &Path) -> Result<Vec<PathBuf>, String>;

    /// The value of a variable of the environment; `None` if it is not set, or not UTF-8.
    fn variable(&self, name: &str) -> Option<String>;
}

/// There is nothing outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Outside for Nothing {
    fn text(&self, _: &Path, _: usize) -> Result<String, String> {
        Err("no other file can be read here".to_owned())
    }

    fn names(&self, _: &Path) -> Result<Vec<PathBuf>, String> {
        Err("no directory can be read here".to_owned())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}
