//! The purpose of connections.
//!
//! Owns that choice and nothing else.

/// What becomes of connections, and which of the free ones is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// They are there to carry requests: one that ended is replaced, and the one that became free last goes first.
    Replace,
    /// They are there to be held: all are asked in turn, and none that ended is replaced.
    Hold,
}
