//! `[files]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `files` does.

use crate::limits;

/// The media type of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType {
    /// The extension in lower case, without its dot.
    pub extension: String,
    /// The value of Content-Type.
    pub value: String,
}

/// The memory held for file content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCache {
    /// Bytes for each scheduler; zero for no cache.
    pub size: u64,
    /// The largest file that is held, in bytes.
    pub file_size: u64,
}

impl Default for FileCache {
    fn default() -> Self {
        Self { size: limits::CACHE_SIZE, file_size: limits::CACHE_FILE_SIZE }
    }
}
