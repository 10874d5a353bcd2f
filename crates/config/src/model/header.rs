//! A field that answers get.
//!
//! Owns its shape. `field` says what may be in one.

/// A field added to answers. Name and value contain no CR, LF, NUL or other control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The name as written in the file.
    pub name: String,
    /// The value.
    pub value: String,
}
