//! `[files]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `files` does.

/// The media type of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType {
    /// The extension in lower case, without its dot.
    pub extension: String,
    /// The value of Content-Type.
    pub value: String,
}
