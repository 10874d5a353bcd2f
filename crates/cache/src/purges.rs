//! Purges that are at work.
//!
//! Owns which stored answers a purge is about: those that were stored before it. A purge is in force at once, and stays
//! in the list until every answer was compared with it. Never removes an answer itself.

use std::collections::VecDeque;

use crate::key::Key;
use crate::limits::PURGES;
use crate::pattern::Pattern;

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Purges {
    list: VecDeque<Purge>,
}

#[derive(Debug)]
struct Purge {
    pattern: Pattern,
    /// Answers with a smaller number are meant.
    before: u64,
    /// Places of the table that still have to be looked at.
    left: usize,
}

impl Purges {
    /// A purge of answers with a smaller number, in a table of so many places.
    pub(crate) fn add(&mut self, pattern: Pattern, before: u64, places: usize) {
        let pattern = if self.list.len() < PURGES {
            pattern
        } else {
            self.list.clear();
            Pattern::everything()
        };
        if places > 0 {
            self.list.push_back(Purge { pattern, before, left: places });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether an answer is gone by one of them.
    pub(crate) fn include(&self, key: &Key, number: u64) -> bool {
        self.list.iter().any(|purge| number < purge.before && purge.pattern.includes(key))
    }

    /// So many more places were compared with all of them.
    pub(crate) fn note_compared(&mut self, places: usize) {
        for purge in &mut self.list {
            purge.left = purge.left.saturating_sub(places);
        }
        self.list.retain(|purge| purge.left > 0);
    }
}
