//! How files are served, as plain data with defaults.
//!
//! Owns the shape. Never reads text (`files` does), and never serves a file.

use std::path::{Path, PathBuf};

use crate::limits;

/// How files are served: `[files]`, or the `files` of a route over it.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSettings {
    /// The directory for `/`.
    pub root: PathBuf,
    /// Whether a directory without an index is answered with its listing.
    pub listing: bool,
    /// The names tried for a directory, in order.
    pub index: Vec<String>,
    /// Whether names that begin with a dot are served; `.well-known` always is.
    pub hidden: bool,
    /// Patterns of files that clients cannot see, besides those that the server always hides.
    pub hide: Vec<String>,
    /// Whether symbolic links are followed, as long as they stay below the root.
    pub symlinks: bool,
    /// Whether `name.zst`, `name.br`, `name.gz` are sent in place of `name` to clients that accept them.
    pub precompressed: bool,
    /// Whether files are compressed on the fly.
    pub compress: bool,
    /// The minimum size in bytes for that.
    pub compress_from: u64,
    /// The Cache-Control by file; the first match applies.
    pub cache_control: Vec<CacheRule>,
    /// `/` and the name of the one file below the root that answers every path.
    pub only: Option<String>,
}

impl FileSettings {
    /// The default rules for `root`.
    pub fn of_root(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            listing: false,
            index: vec!["index.html".to_owned()],
            hidden: false,
            hide: Vec::new(),
            symlinks: true,
            precompressed: true,
            compress: true,
            compress_from: limits::COMPRESS_FROM,
            cache_control: Vec::new(),
            only: None,
        }
    }
}

/// One `[[files.cache_control]]`. A `cache_control` for the whole route is one with the pattern `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheRule {
    /// The files it applies to: without a `/` a name, with one the whole path, where `*` matches any
    /// characters.
    pub pattern: String,
    /// The value of Cache-Control.
    pub value: String,
}
