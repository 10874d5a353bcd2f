//! Configurations of nginx and Caddy as one of Velodrome: text in, text out.
//!
//! Owns the syntax of both and what their words mean here. What has no counterpart becomes a comment with its name and
//! line. The printed text is always a valid configuration: what `config` refuses is commented out (`settle`), and a
//! route that would then serve what it was to guard answers 501 instead. Never opens a file: the caller gives the
//! texts.

mod caddy;
mod draft;
pub mod limits;
mod nginx;
mod settle;
mod word;

use std::fmt;

/// The files that a configuration includes.
pub trait Files {
    /// The names and texts of the files of a pattern, by name. The pattern is as written: relative to the main file.
    ///
    /// # Errors
    /// Why they cannot be read, in words.
    fn matching(&self, pattern: &str) -> Result<Vec<(String, String)>, String>;
}

/// There are no other files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn matching(&self, _: &str) -> Result<Vec<(String, String)>, String> {
        Err("no other file can be read here".to_owned())
    }
}

/// Why a text is no configuration of that program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    file: String,
    line: usize,
    what: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for SyntaxError {}

/// The configuration that does the same as an `nginx.conf`.
///
/// # Errors
/// If the text is no configuration of nginx: the first place where it is not.
pub fn from_nginx(text: &str, name: &str, files: &dyn Files) -> Result<String, SyntaxError> {
    let draft = nginx::read(text, name, files)?;
    Ok(settle::settled(draft, name))
}

/// The configuration that does the same as a Caddyfile.
///
/// # Errors
/// If the text is no Caddyfile: the first place where it is not.
pub fn from_caddy(text: &str, name: &str, files: &dyn Files) -> Result<String, SyntaxError> {
    let draft = caddy::read(text, name, files)?;
    Ok(settle::settled(draft, name))
}
