//! Networks, and the peers of Unix sockets, as values of the file.
//!
//! Owns the messages about them. `wire::network` has the syntax.

use wire::network::{NetworkError, Peers};

use crate::item::Item;
use crate::value::{borrowed_text, cannot_be};

/// Reads a network or `unix`.
pub(super) fn read(item: &Item<'_>) -> Result<Peers, String> {
    let text = borrowed_text(item, "a network in quotes such as \"10.0.0.0/8\", or \"unix\"")?;
    text.parse::<Peers>().map_err(|error| {
        let or_local = if error == NetworkError::Unreadable { ", or \"unix\"" } else { "" };
        cannot_be(item, text, &format!("{error}{or_local}"))
    })
}
