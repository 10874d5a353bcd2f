//! Purges that are at work.
//!
//! Owns which stored answers a purge is about: those that were stored before it. A purge is in force at once, and stays
//! in the list until every place was compared with it that there was when it began. Never removes an answer itself.

use std::collections::VecDeque;
use std::ops::Range;

use crate::key::AnswerKey;
use crate::label::Label;
use crate::limits::PURGES;
use crate::pattern::PurgePattern;

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Purges {
    list: VecDeque<Purge>,
    /// The place that is compared next, with all of them.
    next: usize,
}

#[derive(Debug)]
struct Purge {
    pattern: PurgePattern,
    /// Answers with a smaller number are meant.
    before: u64,
    /// The first place that was compared with it.
    start: usize,
    /// Places of the table when it began: what was stored before is in one of them.
    places: usize,
    round: Round,
}

/// How far the places are compared with a purge, which begins in the midst of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// Those from its start on are not all compared.
    Rest,
    /// Those are, and the ones before its start are next.
    Beginning,
}

impl Purges {
    /// A purge of answers with a smaller number, in a table of so many places.
    pub(crate) fn add(&mut self, pattern: PurgePattern, before: u64, places: usize) {
        let pattern = if self.list.len() < PURGES {
            pattern
        } else {
            self.list.clear();
            PurgePattern::everything()
        };
        if places > 0 {
            self.list.push_back(Purge {
                pattern,
                before,
                start: self.next,
                places,
                round: Round::Rest,
            });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether an answer is gone by one of them.
    pub(crate) fn include(&self, key: &AnswerKey, number: u64) -> bool {
        self.list.iter().any(|purge| number < purge.before && purge.pattern.includes(key))
    }

    /// Whether an answer with this label may be gone by one of them.
    pub(crate) fn may_include(&self, label: &Label) -> bool {
        let mut older = self.list.iter().filter(|purge| label.serial < purge.before);
        older.any(|purge| purge.pattern.may_include(label.path))
    }

    /// Whether it is, whatever its key is.
    pub(crate) fn surely_include(&self, label: &Label) -> bool {
        let mut older = self.list.iter().filter(|purge| label.serial < purge.before);
        older.any(|purge| purge.pattern.is_everything())
    }

    /// All of them: which answers each is about, by number and pattern.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, &PurgePattern)> {
        self.list.iter().map(|purge| (purge.before, &purge.pattern))
    }

    /// Forgets a pattern, because a younger purge has the same.
    pub(crate) fn forget(&mut self, pattern: &PurgePattern) {
        self.list.retain(|purge| purge.pattern != *pattern);
    }

    /// The places that are compared next, at most so many.
    pub(crate) fn next(&self, most: usize) -> Range<usize> {
        self.next..self.end().min(self.next.saturating_add(most))
    }

    /// These places were compared with all of them.
    pub(crate) fn note_compared(&mut self, compared: &Range<usize>) {
        self.next = compared.end.max(compared.start);
        let is_round = self.next >= self.end();
        if is_round {
            self.next = 0;
        }
        let next = self.next;
        self.list.retain_mut(|purge| {
            // A start behind all places is met by a whole round more.
            let is_again = is_round && purge.round == Round::Beginning;
            if is_round {
                purge.round = Round::Beginning;
            }
            !is_again && (purge.round == Round::Rest || next < purge.start)
        });
    }

    /// The place behind all that there were when one of them began. What is stored behind it is younger than all.
    fn end(&self) -> usize {
        self.list.iter().map(|purge| purge.places).max().unwrap_or(0)
    }
}
