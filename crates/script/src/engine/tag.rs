//! The tags of values that the library yields: the end of a run, or the call that it waits for.
//!
//! Owns the one table from which Rust and the library's Lua (`kit.tag_NAME`) both are generated. A
//! yield without values is the end of a slice and has no tag.

use std::ffi::CStr;

/// A tag's name in the library's table.
const fn named(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("one zero, at its end"),
    }
}

macro_rules! tags {
    ($($(#[$what:meta])* $name:ident = $number:literal;)*) => {
        $($(#[$what])* pub(super) const $name: u8 = $number;)*

        /// All tags, by their names in the library's table.
        pub(super) const ALL: &[(&CStr, u8)] =
            &[$((named(concat!("tag_", stringify!($name), "\0")), $name)),*];
    };
}

tags! {
    /// The run has ended; its output follows.
    DONE = 1;
    /// A text was loaded, or cannot be.
    LOADED = 2;
    /// A value that a page's own coroutine yielded.
    USER = 3;
    /// The run ended itself.
    EXIT = 4;
    /// The coroutine waits for its next job.
    IDLE = 5;
}

/// The tag of the first call that the host declares; the others follow.
pub(super) const FIRST_CALL: u8 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tags_are_the_same() {
        let numbers: std::collections::BTreeSet<u8> =
            ALL.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers.len(), ALL.len());
    }
}
