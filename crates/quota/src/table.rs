//! A table of keys with one number each, of fixed size.
//!
//! Owns which key is replaced when there is no room: among the four of its cache line, the one with the smallest
//! number, which has used least. So many new keys replace each other, and never one that is close to its limit.

use crate::limits::{KEY_BYTES, KEYS_IN_LINE, KEYS_MAX};

/// Keys and their numbers.
#[derive(Debug)]
pub struct Table {
    /// A power of two of them.
    lines: Vec<Line>,
    /// How often a key with a number above zero was replaced.
    replaced: u64,
}

/// The keys that share a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line([Entry; KEYS_IN_LINE]);

/// A key and its number. The key 0 means that there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    key: u64,
    number: u64,
}

const _: () = assert!(size_of::<Line>() == 64 && size_of::<Entry>() == KEY_BYTES);

impl Table {
    /// Room for at least this many keys. The kernel gives the memory when it is used.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        let lines = keys.clamp(1, KEYS_MAX).div_ceil(KEYS_IN_LINE).next_power_of_two();
        Self { lines: vec![Line::default(); lines], replaced: 0 }
    }

    /// Whether it has room for at least this many keys.
    #[must_use]
    pub fn has_room_for(&self, keys: usize) -> bool {
        self.lines.len() * KEYS_IN_LINE >= keys.min(KEYS_MAX)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }

    /// How many keys were replaced that had used something.
    #[must_use]
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// The number of a key, which is 0 if it is new. `now` is the number up to which others mean nothing any more.
    pub fn number(&mut self, key: u64, now: u64) -> &mut u64 {
        let key = key.max(1);
        let line = self.line(key);
        let known = line.0.iter().position(|entry| entry.key == key);
        let index = known.unwrap_or_else(|| {
            let numbers = line.0.iter().enumerate();
            numbers.min_by_key(|(_, entry)| entry.number).map_or(0, |(index, _)| index)
        });
        if known.is_none() {
            let is_lost = line.0.get(index).is_some_and(|entry| entry.number > now);
            self.replaced += u64::from(is_lost);
        }
        let line = self.line(key);
        // The index is one of the line's.
        let entry = &mut line.0[index % KEYS_IN_LINE];
        if known.is_none() {
            *entry = Entry { key, number: 0 };
        }
        &mut entry.number
    }

    /// The number of a key, if it is there.
    pub fn known(&mut self, key: u64) -> Option<&mut u64> {
        let key = key.max(1);
        self.line(key).0.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.number)
    }

    fn line(&mut self, key: u64) -> &mut Line {
        // The number of lines is a power of two above zero.
        let index = key as usize & (self.lines.len() - 1);
        &mut self.lines[index]
    }
}
