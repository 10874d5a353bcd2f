//! A table of the keys of one limit with one number each, of fixed size.
//!
//! Owns which key is forgotten when there is no room: one of the four of its cache line, and first one that was not
//! refused, of those the one with the smallest number, which has used least. All numbers are of one limit, so they can
//! be compared. Many new keys therefore replace each other, and not one that is at its limit.

use crate::limits::{KEY_BYTES, KEYS_IN_LINE, KEYS_MAX};

/// Keys and their numbers.
#[derive(Debug)]
pub struct KeyTable {
    /// At least one.
    lines: Vec<Line>,
    /// How often a key with a number above zero was replaced.
    replaced: u64,
}

/// The keys that share a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line([Entry; KEYS_IN_LINE]);

/// A key and its number.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The key without its highest bit; 0: there is none. The highest bit is [`REFUSED`].
    marked: u64,
    number: u64,
}

/// The mark of a key that was refused. It lasts until all four keys of the line have it: a client that is refused again
/// and again keeps its place, and a client that was refused once loses it some time.
const REFUSED: u64 = 1 << 63;

const _: () = assert!(size_of::<Line>() == 64 && size_of::<Entry>() == KEY_BYTES);

impl Entry {
    fn key(self) -> u64 {
        self.marked & !REFUSED
    }

    /// The smallest is forgotten first. `now` is the number up to which others mean nothing any more.
    fn rank(self, now: u64) -> (bool, u64) {
        (self.marked & REFUSED != 0 && self.number > now, self.number)
    }
}

impl KeyTable {
    /// Room for this many keys, rounded up to whole lines. The kernel gives the memory when it is used.
    pub fn new(keys: usize) -> Self {
        Self { lines: vec![Line::default(); lines_for(keys)], replaced: 0 }
    }

    /// The same keys with room for another number of them. Those without room are forgotten.
    #[must_use]
    pub fn resized(self, keys: usize) -> Self {
        if self.lines.len() == lines_for(keys) {
            return self;
        }
        let mut table = Self::new(keys);
        for entry in self.lines.iter().flat_map(|line| line.0).filter(|entry| entry.number > 0) {
            *table.number(entry.key(), 0) = entry.number;
            if entry.marked & REFUSED != 0 {
                table.mark_refused(entry.key());
            }
        }
        // Keys that a reload drops are no sign of too small a table.
        table.replaced = self.replaced;
        table
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }

    /// How many keys were replaced that had used something.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// The number of a key, which is 0 if it is new. `now` is the number up to which others mean nothing any more.
    pub fn number(&mut self, key: u64, now: u64) -> &mut u64 {
        let key = stored(key);
        let line = self.line(key);
        let known = line.0.iter().position(|entry| entry.key() == key);
        let index = known.unwrap_or_else(|| {
            let ranks = line.0.iter().enumerate();
            ranks.min_by_key(|(_, entry)| entry.rank(now)).map_or(0, |(index, _)| index)
        });
        // The index is one of the line's.
        let index = index % KEYS_IN_LINE;
        if known.is_none() {
            let (is_refused, number) = line.0[index].rank(now);
            if is_refused {
                // All of them are.
                line.0.iter_mut().for_each(|entry| entry.marked &= !REFUSED);
            }
            line.0[index] = Entry { marked: key, number: 0 };
            self.replaced += u64::from(number > now);
        }
        &mut self.line(key).0[index].number
    }

    /// The number of a key, if it is there.
    pub fn known(&mut self, key: u64) -> Option<&mut u64> {
        self.entry(key).map(|entry| &mut entry.number)
    }

    /// Replaces the number of each key.
    pub fn map_numbers(&mut self, map: impl Fn(u64) -> u64) {
        for entry in self.lines.iter_mut().flat_map(|line| &mut line.0) {
            entry.number = map(entry.number);
        }
    }

    /// A key was refused: others are forgotten before it.
    pub fn mark_refused(&mut self, key: u64) {
        if let Some(entry) = self.entry(key) {
            entry.marked |= REFUSED;
        }
    }

    fn entry(&mut self, key: u64) -> Option<&mut Entry> {
        let key = stored(key);
        self.line(key).0.iter_mut().find(|entry| entry.key() == key)
    }

    /// The line of a key that is stored: the higher bits of the 63 tell.
    fn line(&mut self, key: u64) -> &mut Line {
        let index = (u128::from(key << 1) * self.lines.len() as u128) >> 64;
        // Less than the number of lines, because the factor is less than 2^64.
        &mut self.lines[index as usize]
    }
}

fn lines_for(keys: usize) -> usize {
    keys.clamp(1, KEYS_MAX).div_ceil(KEYS_IN_LINE)
}

fn stored(key: u64) -> u64 {
    (key & !REFUSED).max(1)
}
