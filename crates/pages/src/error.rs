//! Why the pages of a configuration could not be read.
//!
//! Owns the text. Never about a single page: a broken page is reported, and the others are served.

use std::fmt;
use std::io;
use std::path::PathBuf;

use script::engine::EngineError;

/// Why there are no new pages. The current ones stay.
#[derive(Debug)]
pub enum PagesError {
    /// There are pages, but no engine can run them.
    Engine(EngineError),
    /// The host was short of a resource, or a disk failed, so it is unknown which pages exist.
    Unread {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl fmt::Display for PagesError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(formatter),
            Self::Unread { path, error } => {
                write!(formatter, "cannot read `{}`: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for PagesError {}

impl From<EngineError> for PagesError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}
