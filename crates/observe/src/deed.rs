//! The action after a key, besides another screen.
//!
//! Owns the list. `run` does these things.

use crate::ask::Ask;

/// The action to take after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// End the program.
    Quit,
    /// Stop the program until its shell continues it.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Ask the server.
    Ask(Ask),
    /// Profile this process.
    Profile(u32),
}
