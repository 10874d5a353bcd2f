//! The formats of an access log.
//!
//! Owns the choice, which the configuration names and the writer of lines follows. Never writes a line.

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// The combined format that every log analyser reads.
    Combined,
    /// One JSON object per line.
    Json,
}
