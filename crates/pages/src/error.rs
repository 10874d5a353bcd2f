//! Why the pages of a configuration could not be read.
//!
//! Owns the text. Never about a single page: a broken page is reported, and the others are served.

use std::io;
use std::path::PathBuf;

use script::engine::EngineError;

/// Why there are no new pages. The current ones stay.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    /// There are pages, but no engine can run them.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// The host was short of a resource, or a disk failed, so it is unknown which pages exist.
    #[error("cannot read `{}`: {error}", .path.display())]
    Unread {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}
