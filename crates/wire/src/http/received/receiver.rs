//! The receiver of a response: a caller that wants more than where it ends.
//!
//! Owns the calls by which a reader passes on what it takes. Never keeps anything; `()` receives nothing, at no cost.

use crate::http::head::HttpVersion;

/// Receives the lines of a response's heads and its trailer section, each once, however the input was cut. The heads of
/// interim responses come first, each with its own begin and end. After an error, lines that were received belong to
/// nothing.
pub trait Receiver {
    /// A head begins with this status line.
    fn begin(&mut self, _version: HttpVersion, _status: u16) {}

    /// A field with its name as written and its value without blanks around it.
    fn field(&mut self, _name: &[u8], _value: &[u8]) {}

    /// The value of the field before goes on, after a space (RFC 9112, 5.2).
    fn fold(&mut self, _more: &[u8]) {}

    /// The head has ended, validly so far as one line can be judged.
    fn end(&mut self) {}

    /// A byte of the trailer section, valid in its place. The section's lines end as those of a head; the empty line
    /// counts.
    fn trailer_byte(&mut self, _byte: u8) {}
}

impl Receiver for () {}
