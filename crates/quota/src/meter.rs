//! The uses of all keys as one scheduler knows them, and the news for the other schedulers.
//!
//! Owns the stated error: a scheduler decides at once, by what it has used itself and what the others have told it in
//! earlier turns. Uses of one key on several schedulers in the same turn may therefore exceed a burst, by one burst for
//! each further scheduler, and by what the rate gives back in that turn; what was used too much is owed, so over time
//! the rate is exact.

use std::time::Duration;

use crate::limits::NEWS_MAX;
use crate::pace::{Outcome, Pace};
use crate::table::Table;

/// The uses of keys on one scheduler.
#[derive(Debug)]
pub struct Meter {
    /// For each key the time when all is given back, in nanoseconds.
    rates: Table,
    /// For each key how many are open.
    open: Table,
    news: News,
    telling: Telling,
}

/// Uses that another scheduler has to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
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

impl News {
    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty() && self.open.is_empty()
    }
}

impl Meter {
    /// Room for this many keys of each kind, on one of so many schedulers.
    #[must_use]
    pub fn new(keys: usize, schedulers: usize) -> Self {
        let telling = if schedulers > 1 { Telling::Others } else { Telling::Nobody };
        let (rates, open) = (Table::new(keys), Table::new(keys));
        Self { rates, open, news: News::default(), telling }
    }

    /// Whether it was made for this many keys.
    #[must_use]
    pub fn has_room_for(&self, keys: usize) -> bool {
        self.rates.has_room_for(keys)
    }

    /// What a use of one unit would lead to.
    pub fn look(&mut self, key: u64, pace: &Pace, now_ns: u64, patience: Duration) -> Outcome {
        let mut until_ns = self.rates.known(key).map_or(0, |until_ns| *until_ns);
        pace.take(&mut until_ns, 1, now_ns, patience)
    }

    /// Whether one more of at most `most` of a key may be opened.
    pub fn has_place(&mut self, key: u64, most: u64) -> bool {
        self.open.known(key).map_or(0, |count| *count) < most
    }

    /// Uses units of a key.
    pub fn take(
        &mut self,
        key: u64,
        (pace, units): (&Pace, u64),
        now_ns: u64,
        patience: Duration,
    ) -> Outcome {
        let outcome = pace.take(self.rates.number(key, now_ns), units, now_ns, patience);
        if !matches!(outcome, Outcome::Refused(_)) {
            self.tell_rate(key, pace.nanoseconds_of(units));
        }
        outcome
    }

    /// Whether a key may use something whose size is counted afterwards ([`spend`](Self::spend)).
    pub fn is_within(&mut self, key: u64, pace: &Pace, now_ns: u64) -> Outcome {
        let until_ns = self.rates.known(key).map_or(0, |until_ns| *until_ns);
        pace.is_within(until_ns, now_ns)
    }

    /// Counts units that were used.
    pub fn spend(&mut self, key: u64, (pace, units): (&Pace, u64), now_ns: u64) {
        let nanoseconds = pace.nanoseconds_of(units);
        self.add_rate(key, nanoseconds, now_ns);
        self.tell_rate(key, nanoseconds);
    }

    /// Opens one of at most `most` of a key. `false`: there are as many.
    pub fn open(&mut self, key: u64, most: u64) -> bool {
        let count = self.open.number(key, 0);
        if *count >= most {
            return false;
        }
        *count += 1;
        self.tell_open(key, 1);
        true
    }

    /// Closes one that was opened.
    pub fn close(&mut self, key: u64) {
        if let Some(count) = self.open.known(key) {
            *count = count.saturating_sub(1);
        }
        self.tell_open(key, -1);
    }

    /// Takes what the other schedulers have to be told of this turn.
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// Counts what another scheduler tells.
    pub fn learn(&mut self, news: &News, now_ns: u64) {
        for (key, nanoseconds) in &news.rates {
            self.add_rate(*key, *nanoseconds, now_ns);
        }
        for (key, more) in &news.open {
            if *more > 0 {
                let count = self.open.number(*key, 0);
                *count = count.saturating_add_signed(*more);
            } else if let Some(count) = self.open.known(*key) {
                *count = count.saturating_add_signed(*more);
            }
        }
    }

    /// Bytes of memory of its tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rates.bytes() + self.open.bytes()
    }

    fn add_rate(&mut self, key: u64, nanoseconds: u64, now_ns: u64) {
        let until_ns = self.rates.number(key, now_ns);
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
        let has_room = self.news.open.len() < NEWS_MAX;
        match self.news.open.last_mut() {
            Some((last, sum)) if *last == key => *sum += more,
            _ if has_room => self.news.open.push((key, more)),
            _ => {}
        }
    }
}
