//! The labels of all answers of one cache that are kept outside of memory.
//!
//! Owns which of them leave for want of room, and which of them purges are about. Reads and writes nothing: whoever
//! keeps the answers does what the ledger says.

use std::fmt::Write;
use std::ops::Range;

use ahash::HashMap;

use crate::key::AnswerKey;
use crate::label::Label;
use crate::limits::VARIANTS;
use crate::pattern::PurgePattern;
use crate::purges::Purges;
use crate::shelf::{Shelf, ValuePlace};

/// The labels.
#[derive(Debug)]
pub struct LabelLedger {
    shelf: Shelf<Label>,
    by_text: HashMap<u64, Vec<ValuePlace>>,
    purges: Purges,
    files: usize,
    last_serial: u64,
}

/// Labels that are compared with purges.
#[derive(Debug)]
pub struct Compared {
    range: Range<usize>,
    /// Purged by their labels alone.
    pub gone: Vec<Label>,
    /// Those whose records have to be read.
    pub doubted: Vec<Label>,
}

impl LabelLedger {
    /// An empty one, for so many bytes and so many answers.
    pub fn new(bytes: u64, files: usize) -> Self {
        let mut ledger = Self {
            shelf: Shelf::new(0),
            by_text: HashMap::default(),
            purges: Purges::default(),
            files: 0,
            last_serial: 0,
        };
        ledger.set_limits(bytes, files);
        ledger
    }

    /// Sets how much there may be.
    pub fn set_limits(&mut self, bytes: u64, files: usize) {
        self.shelf.set_capacity(usize::try_from(bytes).unwrap_or(usize::MAX));
        self.files = files;
    }

    /// A serial number that no other one has, after this time in nanoseconds since 1970.
    pub fn next_serial(&mut self, unix_ns: u64) -> u64 {
        self.last_serial = unix_ns.max(self.last_serial + 1);
        self.last_serial
    }

    /// An answer is kept. Returns those that it replaces.
    pub fn put(&mut self, label: Label) -> Vec<Label> {
        self.last_serial = self.last_serial.max(label.serial);
        let same = |known: &Label| known.identity == label.identity && known.serial <= label.serial;
        let mut gone: Vec<Label> = self.of(label.text).into_iter().filter(same).collect();
        let others = self.of(label.text).len() - gone.len();
        if others >= VARIANTS {
            let mut rest = self.of(label.text);
            rest.retain(|known| !same(known));
            gone.extend(rest.last());
        }
        for old in &gone {
            self.remove(old);
        }
        let place = self.shelf.put(label.text ^ label.identity, label.cost(), label);
        self.by_text.entry(label.text).or_default().push(place);
        gone
    }

    /// The answers with this number of their text, the youngest first.
    pub fn of(&self, text: u64) -> Vec<Label> {
        let places = self.by_text.get(&text).into_iter().flatten();
        let mut labels: Vec<Label> =
            places.filter_map(|place| self.shelf.get(*place).copied()).collect();
        labels.sort_unstable_by_key(|label| std::cmp::Reverse(label.serial));
        labels
    }

    /// An answer was used.
    pub fn note_use(&mut self, label: &Label) {
        if let Some(place) = self.place_of(label) {
            self.shelf.note_use(place);
        }
    }

    /// An answer is not kept any more.
    pub fn remove(&mut self, label: &Label) {
        let Some(place) = self.place_of(label) else { return };
        self.shelf.remove(place);
        self.unlink(label, place);
    }

    /// The answer that leaves next, if there is too much beside other `reserved` bytes.
    pub fn evict(&mut self, reserved: u64) -> Option<Label> {
        let reserved = usize::try_from(reserved).unwrap_or(usize::MAX);
        let label = match self.shelf.evict(reserved) {
            Some(label) => label,
            None if self.shelf.len() > self.files => self.shelf.take_next()?,
            None => return None,
        };
        let shelf = &self.shelf;
        if let Some(places) = self.by_text.get_mut(&label.text) {
            places.retain(|place| shelf.get(*place).is_some());
            if places.is_empty() {
                self.by_text.remove(&label.text);
            }
        }
        Some(label)
    }

    /// Bytes that all use.
    pub fn bytes(&self) -> u64 {
        self.shelf.bytes() as u64
    }

    /// The number of answers.
    pub fn len(&self) -> usize {
        self.shelf.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.shelf.is_empty()
    }

    /// Forgets everything that a pattern includes, of what is kept now. It is in force at once.
    pub fn purge(&mut self, pattern: PurgePattern, unix_ns: u64) {
        let before = self.next_serial(unix_ns);
        self.purges.forget(&pattern);
        self.purges.add(pattern, before, self.shelf.places());
    }

    /// Whether purges are at work.
    pub fn is_purging(&self) -> bool {
        !self.purges.is_empty()
    }

    /// Whether an answer is purged.
    pub fn is_purged(&self, key: &AnswerKey, label: &Label) -> bool {
        self.purges.include(key, label.serial)
    }

    /// The labels that are compared with purges next, out of so many.
    pub fn compare_next(&self, most: usize) -> Compared {
        let range = self.purges.next(most);
        let labels =
            range.clone().filter_map(|index| self.shelf.at(index)).map(|(_, label)| *label);
        let suspects = labels.filter(|label| self.purges.may_include(label));
        let (gone, doubted) = suspects.partition(|label| self.purges.surely_include(label));
        Compared { range, gone, doubted }
    }

    /// They were compared, and those that are purged are removed.
    pub fn note_compared(&mut self, compared: &Compared) {
        self.purges.note_compared(&compared.range);
    }

    /// The purges at work, for a start in the midst of them.
    pub fn purges_text(&self) -> String {
        let mut text = String::new();
        for (before, pattern) in self.purges.all() {
            // Writing to a string does not fail.
            let _written = writeln!(text, "{before:x} {pattern}");
        }
        text
    }

    /// Goes on with purges. A line that cannot be read may have been any: everything is purged.
    pub fn restore_purges(&mut self, text: &str) {
        for line in text.lines() {
            let read = line.split_once(' ').and_then(|(before, pattern)| {
                Some((u64::from_str_radix(before, 16).ok()?, PurgePattern::parse(pattern).ok()?))
            });
            let (before, pattern) = read.unwrap_or_else(|| (u64::MAX, PurgePattern::everything()));
            if before < u64::MAX {
                self.last_serial = self.last_serial.max(before);
            }
            self.purges.add(pattern, before, self.shelf.places());
        }
    }

    fn place_of(&self, label: &Label) -> Option<ValuePlace> {
        let places = self.by_text.get(&label.text)?;
        let is_it = |place: &&ValuePlace| {
            self.shelf.get(**place).is_some_and(|known| known.serial == label.serial)
        };
        places.iter().find(is_it).copied()
    }

    fn unlink(&mut self, label: &Label, gone: ValuePlace) {
        let Some(places) = self.by_text.get_mut(&label.text) else { return };
        places.retain(|place| *place != gone);
        if places.is_empty() {
            self.by_text.remove(&label.text);
        }
    }
}
