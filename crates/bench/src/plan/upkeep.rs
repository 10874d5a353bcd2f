//! The purpose of connections.
//!
//! Owns that choice and nothing else.

/// The purpose of connections, and which of the free ones is used next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// They carry requests: one that ended is replaced, and the one that became free last is used first.
    Replace,
    /// They are held: all are used in turn, and none that ended is replaced.
    Hold,
}
