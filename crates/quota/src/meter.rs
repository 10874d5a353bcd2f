//! The uses of the keys of one limit as one scheduler knows them, and the news for the other schedulers.
//!
//! Owns the stated error: a scheduler decides at once, by what it has used itself and what the others have told it in
//! earlier turns. Uses of one key on several schedulers in the same turn may therefore exceed a burst, by one burst for
//! each further scheduler, and by what the rate gives back in that turn; what was used too much is owed, so over time
//! the rate is exact.

use std::time::Duration;

use crate::limits::NEWS_MAX;
use crate::pace::{QuotaDecision, QuotaPace};
use crate::rule::Rule;
use crate::table::KeyTable;

/// The uses of the keys of one limit on one scheduler.
#[derive(Debug)]
pub struct Meter {
    /// For each key the time when all is given back, in nanoseconds; or how many are open.
    table: KeyTable,
    news: Uses,
    telling: Telling,
}

/// Uses that another scheduler has to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Keys, and the nanoseconds that they have used.
    rates: Vec<(u64, u64)>,
    /// Keys, and how many more are open.
    open: Vec<(u64, i64)>,
}

/// Whether there are other schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Nobody,
    Others,
}

impl Uses {
    pub(crate) fn new(rates: Vec<(u64, u64)>, open: Vec<(u64, i64)>) -> Self {
        Self { rates, open }
    }

    /// Keys, and the nanoseconds that they have used.
    pub(crate) fn rates(&self) -> &[(u64, u64)] {
        &self.rates
    }

    /// Keys, and how many more are open.
    pub(crate) fn open(&self) -> &[(u64, i64)] {
        &self.open
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty() && self.open.is_empty()
    }

    /// Whether such a limit counts them. During a reload another scheduler may have another limit of the same name.
    pub fn are_of(&self, rule: Rule) -> bool {
        match rule {
            Rule::Uses(_) | Rule::Amounts(_) => self.open.is_empty(),
            Rule::Open(_) => self.rates.is_empty(),
        }
    }
}

impl Meter {
    /// Room for this many keys, on one of so many schedulers.
    pub fn new(keys: usize, schedulers: usize) -> Self {
        let telling = if schedulers > 1 { Telling::Others } else { Telling::Nobody };
        Self { table: KeyTable::new(keys), news: Uses::default(), telling }
    }

    /// The same uses with room for another number of keys.
    #[must_use]
    pub fn resized(self, keys: usize) -> Self {
        Self { table: self.table.resized(keys), ..self }
    }

    /// The same uses, given back at another pace from now on.
    #[must_use]
    pub fn repaced(mut self, old: &QuotaPace, new: &QuotaPace, now_ns: u64) -> Self {
        if (old.units, old.window) != (new.units, new.window) {
            self.table.map_numbers(|until_ns| match until_ns.checked_sub(now_ns) {
                Some(owed_ns) => now_ns.saturating_add(new.repaced(owed_ns, old)),
                None => until_ns,
            });
        }
        self
    }

    /// The decision to which a use of one unit would lead.
    pub fn look(
        &mut self,
        key: u64,
        pace: &QuotaPace,
        now_ns: u64,
        patience: Duration,
    ) -> QuotaDecision {
        let mut until_ns = self.table.known(key).map_or(0, |until_ns| *until_ns);
        let outcome = pace.take(&mut until_ns, 1, now_ns, patience);
        self.note(key, outcome)
    }

    /// Whether one more of at most `most` of a key may be opened.
    pub fn has_place(&mut self, key: u64, most: u64) -> bool {
        let has_place = self.table.known(key).map_or(0, |count| *count) < most;
        if !has_place {
            self.table.mark_refused(key);
        }
        has_place
    }

    /// Uses units of a key.
    pub fn take(
        &mut self,
        key: u64,
        (pace, units): (&QuotaPace, u64),
        now_ns: u64,
        patience: Duration,
    ) -> QuotaDecision {
        let outcome = pace.take(self.table.number(key, now_ns), units, now_ns, patience);
        if !matches!(outcome, QuotaDecision::Refused(_)) {
            self.tell_rate(key, pace.nanoseconds_of(units));
        }
        self.note(key, outcome)
    }

    /// Whether a key may use something whose size is counted afterwards ([`spend`](Self::spend)).
    pub fn is_within(&mut self, key: u64, pace: &QuotaPace, now_ns: u64) -> QuotaDecision {
        let until_ns = self.table.known(key).map_or(0, |until_ns| *until_ns);
        self.note(key, pace.is_within(until_ns, now_ns))
    }

    /// Counts units that were used.
    pub fn spend(&mut self, key: u64, (pace, units): (&QuotaPace, u64), now_ns: u64) {
        let nanoseconds = pace.nanoseconds_of(units);
        self.add_rate(key, nanoseconds, now_ns);
        self.tell_rate(key, nanoseconds);
    }

    /// Opens one of at most `most` of a key. `false`: there are as many.
    pub fn open(&mut self, key: u64, most: u64) -> bool {
        let count = self.table.number(key, 0);
        if *count >= most {
            self.table.mark_refused(key);
            return false;
        }
        *count += 1;
        self.tell_open(key, 1);
        true
    }

    /// Closes one that was opened.
    pub fn close(&mut self, key: u64) {
        if let Some(count) = self.table.known(key) {
            *count = count.saturating_sub(1);
        }
        self.tell_open(key, -1);
    }

    /// Takes what the other schedulers have to be told of this turn.
    pub fn take_news(&mut self) -> Uses {
        std::mem::take(&mut self.news)
    }

    /// Counts what another scheduler tells.
    pub fn learn(&mut self, news: &Uses, now_ns: u64) {
        for (key, nanoseconds) in &news.rates {
            self.add_rate(*key, *nanoseconds, now_ns);
        }
        for (key, more) in &news.open {
            if *more > 0 {
                let count = self.table.number(*key, 0);
                *count = count.saturating_add_signed(*more);
            } else if let Some(count) = self.table.known(*key) {
                *count = count.saturating_add_signed(*more);
            }
        }
    }

    /// Bytes of memory of its table.
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// How many keys were forgotten, because there was no room, whose uses were not all given back.
    pub fn forgotten(&self) -> u64 {
        self.table.replaced()
    }

    /// Marks a key that was refused, so that new keys replace others first.
    fn note(&mut self, key: u64, outcome: QuotaDecision) -> QuotaDecision {
        if matches!(outcome, QuotaDecision::Refused(_)) {
            self.table.mark_refused(key);
        }
        outcome
    }

    fn add_rate(&mut self, key: u64, nanoseconds: u64, now_ns: u64) {
        let until_ns = self.table.number(key, now_ns);
        *until_ns = (*until_ns).max(now_ns).saturating_add(nanoseconds);
    }

    fn tell_rate(&mut self, key: u64, nanoseconds: u64) {
        if self.telling == Telling::Nobody {
            return;
        }
        let has_room = self.news.rates.len() < NEWS_MAX;
        match self.news.rates.last_mut() {
            Some((last, sum)) if *last == key => *sum = sum.saturating_add(nanoseconds),
            _ if has_room => self.news.rates.push((key, nanoseconds)),
            _ => {}
        }
    }

    fn tell_open(&mut self, key: u64, more: i64) {
        if self.telling == Telling::Nobody {
            return;
        }
        match self.news.open.last_mut() {
            Some((last, sum)) if *last == key => *sum += more,
            // Whatever is told of an opening, its end has to be told, too.
            _ => self.news.open.push((key, more)),
        }
    }
}
