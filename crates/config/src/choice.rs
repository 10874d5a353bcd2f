//! Keys whose value is one of a few words.
//!
//! Owns the hint for an unknown word. Never knows what the words mean.

use crate::item::Item;
use crate::value::{borrowed_text, cannot_be};
use crate::wording::{enumerate, nearest};

/// The value for the word.
pub(super) fn choice<T: Copy>(item: &Item<'_>, words: &[(&str, T)]) -> Result<T, String> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let text = borrowed_text(item, &format!("one of {}", enumerate(&names, '"')))?;
    words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let hint = match nearest(text, &names) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("known are {}", enumerate(&names, '"')),
        };
        cannot_be(item, text, &hint)
    })
}
