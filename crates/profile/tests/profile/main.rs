//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod graph;
mod recorded;
mod symbols;

use profile::{Folded, FoldedFile};

/// The profile in a text of folded stacks.
fn folded(text: &str) -> Folded {
    match FoldedFile::read(text.as_bytes()) {
        Ok(FoldedFile::Profile(folded)) => folded,
        other => panic!("{other:?}"),
    }
}
