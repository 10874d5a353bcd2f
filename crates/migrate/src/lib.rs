//! Configurations of nginx and Caddy as one of Velodrome: text in, text out.
//!
//! Owns the syntax of both and what their words mean here. What they keep closed stays closed: whatever may guard a
//! request or decide what answers it, and has no exact counterpart, closes the place that it governs, by a first route
//! that answers 501 with the reason and the line. A word that is not known is taken for a guard. Only what is known to
//! change nothing but speed, logs or the look of an answer becomes a mere comment. The printed text is always a valid
//! configuration (`settle`). Never opens a file: the caller gives the texts.

mod access;
mod caddy;
mod condition;
mod directive;
mod draft;
mod hosts;
mod jump;
pub mod limits;
mod matcher;
mod nginx;
mod pattern;
mod quoted;
mod route;
mod section;
mod settle;
mod upstreams;
mod word;

/// The files that a configuration includes.
pub trait IncludedFiles {
    /// The names and texts of the files of a pattern, by name. The pattern is as written: relative to the file `from`.
    /// Where a pattern with a `*` fits no file, there are none.
    ///
    /// # Errors
    /// Why they cannot be read, in words.
    fn matching(&self, from: &str, pattern: &str) -> Result<Vec<(String, String)>, String>;
}

/// There are no other files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl IncludedFiles for NoFiles {
    fn matching(&self, _: &str, _: &str) -> Result<Vec<(String, String)>, String> {
        Err("no other file can be read here".to_owned())
    }
}

/// Why a text is no configuration of that program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {}", .file, .line, .what)]
pub struct SyntaxError {
    file: String,
    line: usize,
    what: &'static str,
}

impl SyntaxError {
    fn new(file: &str, line: usize, what: &'static str) -> Self {
        Self { file: file.to_owned(), line, what }
    }
}

/// The configuration that does the same as an `nginx.conf`.
///
/// # Errors
/// If the text is no configuration of nginx: the first place where it is not.
pub fn from_nginx(
    text: &str,
    name: &str,
    files: &dyn IncludedFiles,
) -> Result<String, SyntaxError> {
    let draft = nginx::read(text, name, files)?;
    Ok(settle::settled(draft, name))
}

/// The configuration that does the same as a Caddyfile.
///
/// # Errors
/// If the text is no Caddyfile: the first place where it is not.
pub fn from_caddy(
    text: &str,
    name: &str,
    files: &dyn IncludedFiles,
) -> Result<String, SyntaxError> {
    let draft = caddy::read(text, name, files)?;
    Ok(settle::settled(draft, name))
}
