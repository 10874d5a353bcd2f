//! The description of one command, and how `COMMAND` shows it.
//!
//! Owns the format. The lists of commands are in `catalog` and `keys`.

use std::ops::RangeInclusive;

use wire::resp::{write_array, write_bulk, write_integer, write_simple};

/// The description of a command.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// The numbers of words that it may have, including the name.
    pub(super) words: RangeInclusive<usize>,
    pub(super) flags: &'static [&'static str],
    /// The words that are keys: the first, the last (-1: the last word) and the distance of two; zeros if there are none.
    pub(super) keys: (i64, i64, i64),
    pub(super) summary: &'static str,
}

impl Entry {
    /// The number of words as Redis gives it: negative if there may be more.
    fn arity(&self) -> i64 {
        let least = i64::try_from(*self.words.start()).unwrap_or(i64::MAX);
        if self.words.start() == self.words.end() { least } else { -least }
    }

    /// The ten fields of Redis 7. Categories, tips, key specifications and subcommands are empty.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_array(out, 10);
        write_bulk(out, self.name.as_bytes());
        write_integer(out, self.arity());
        write_array(out, self.flags.len());
        self.flags.iter().for_each(|flag| write_simple(out, flag));
        for number in [self.keys.0, self.keys.1, self.keys.2] {
            write_integer(out, number);
        }
        for _ in 0..4 {
            write_array(out, 0);
        }
    }
}
