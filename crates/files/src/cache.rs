//! The knowledge of one scheduler about its files: lookup results, by path.
//!
//! Owns how long a result is valid and which lookups are running; `eviction` decides what is
//! forgotten when there is too much. Never touches a disk and reads no clock: `now_ms` is the time
//! of the turn. Single-threaded, without locks.
//!
//! Freshness by the age of a result: below [`limits::FRESH_MS`] it is served; up to
//! [`limits::SERVABLE_MS`] it is served while it is looked up again; after that the request waits.
//! The age counts from when the lookup was sent, because the disk was not read before that.

mod eviction;

use std::collections::VecDeque;
use std::rc::Rc;

use ahash::HashMap;
use wire::http::encoding::Accepted;

use super::entry::{CachedEntry, first_errand};
use super::job::{EntryKey, Errand, LookupResult};
use super::limits;

/// The knowledge of the cache about a path.
#[derive(Debug)]
pub enum PathLookup {
    /// Answer with this.
    Fresh(Rc<CachedEntry>),
    /// Answer with this, and send a job with the errand.
    Refresh(Rc<CachedEntry>, Errand),
    /// Nothing is known, or it is too old: send a job with the errand and park the request.
    Missing(Errand),
    /// A job is running: park the request.
    Pending,
    /// Too many jobs are running: answer 503.
    Busy,
}

metric::counted! {
    /// Counters since the cache was created, and its current size.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PathCacheStats {
        /// Requests for files answered without a look at the disk.
        pub hits: u64 = Counter(Count, "files.hits", "file_cache_hits"),
        /// Requests for files that waited for the disk.
        pub misses: u64 = Counter(Count, "files.misses", "file_cache_misses"),
        /// Looks at the disk while the answer was given at once.
        pub refreshes: u64 = Counter(Count, "files.refreshes", "file_cache_refreshes"),
        /// Files that left for want of room.
        pub evictions: u64 = Counter(Count, "files.evictions", "file_cache_evictions"),
        /// Bytes of files held in memory.
        pub bytes: usize = Gauge(Bytes, "files.bytes", "file_cache", metric::from_size),
        /// Paths held.
        pub paths: usize = Gauge(Count, "files.paths", "file_cache_paths", metric::from_size),
    }
}

/// The lookup results of one scheduler.
#[derive(Debug)]
pub struct PathCache {
    /// By root, then by path.
    places: Vec<HashMap<Rc<str>, usize>>,
    /// Invariant: an occupied slot is in `places`, a free one is in `free`.
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Places of negative results in the order they became negative; some may be gone or positive by now.
    negatives: VecDeque<(usize, u64)>,
    bytes_max: usize,
    in_flight: usize,
    hand: usize,
    /// Distinguishes what was in a slot at different times.
    serial: u64,
    stats: PathCacheStats,
}

#[derive(Debug)]
struct Slot {
    root: usize,
    path: Rc<str>,
    entry: Option<Rc<CachedEntry>>,
    /// The earliest time at which the disk can have been read; `None`: too long ago.
    checked_ms: Option<u64>,
    inserted_ms: u64,
    /// When the running job was sent.
    sent_ms: Option<u64>,
    use_mark: UseMark,
    /// The number of its entry in `negatives`; 0: it has none.
    negative_serial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UseMark {
    Unused,
    UsedSinceSwept,
}

impl Slot {
    fn cost(&self) -> usize {
        self.path.len() + self.entry.as_ref().map_or(limits::SLOT_COST, |entry| entry.cost())
    }

    fn is_under_way(&self, now_ms: u64) -> bool {
        self.sent_ms.is_some_and(|sent| now_ms.saturating_sub(sent) < limits::ANSWER_WAIT_MS)
    }

    fn may_send(&self, now_ms: u64, in_flight: usize) -> MaySend {
        if self.is_under_way(now_ms) {
            MaySend::UnderWay
        } else if in_flight >= limits::IN_FLIGHT_MAX && self.sent_ms.is_none() {
            MaySend::Full
        } else {
            MaySend::Yes
        }
    }

    /// The decision for a request.
    fn judge(&mut self, accepted: &Accepted, now_ms: u64, may_send: MaySend) -> PathLookup {
        let age_ms = self.checked_ms.map_or(u64::MAX, |checked| now_ms.saturating_sub(checked));
        let servable = self.entry.as_ref().filter(|_| age_ms < limits::SERVABLE_MS);
        let wish = |entry: &Rc<CachedEntry>| entry.wish(accepted);
        let Some(entry) = servable else {
            return match (may_send, &self.entry) {
                (MaySend::UnderWay, _) => PathLookup::Pending,
                (MaySend::Full, _) => PathLookup::Busy,
                (MaySend::Yes, Some(entry)) => PathLookup::Missing(entry.errand(wish(entry))),
                (MaySend::Yes, None) => PathLookup::Missing(first_errand(accepted)),
            };
        };
        self.use_mark = UseMark::UsedSinceSwept;
        let entry = Rc::clone(entry);
        if may_send != MaySend::Yes {
            return PathLookup::Fresh(entry);
        }
        match wish(&entry) {
            None if age_ms < limits::FRESH_MS => PathLookup::Fresh(entry),
            wish => {
                let errand = entry.errand(wish);
                PathLookup::Refresh(entry, errand)
            }
        }
    }

    fn may_go(&self, now_ms: u64) -> bool {
        match self.entry {
            // The requests that waited for it run again in this turn.
            Some(_) => self.inserted_ms != now_ms,
            None => !self.is_under_way(now_ms),
        }
    }
}

impl PathCache {
    /// A cache of at most `bytes_max` bytes. Only results inserted at the current time may exceed it.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            places: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            negatives: VecDeque::new(),
            bytes_max,
            in_flight: 0,
            hand: 0,
            serial: 0,
            stats: PathCacheStats::default(),
        }
    }

    /// From now on it has at most this many bytes. Bytes above it leave with the next result.
    pub fn set_size(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// The decision for a request for `key` by a client that accepts these codings.
    ///
    /// After `Refresh` or `Missing` the caller has to send the job, and pass its result to
    /// [`insert`](Self::insert), or call [`abandon`](Self::abandon).
    pub fn look(&mut self, key: EntryKey<'_>, accepted: &Accepted, now_ms: u64) -> PathLookup {
        let Some(place) = self.place(key) else { return self.begin(key, accepted, now_ms) };
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
            return PathLookup::Busy;
        };
        let may_send = slot.may_send(now_ms, self.in_flight);
        let looked = slot.judge(accepted, now_ms, may_send);
        match &looked {
            PathLookup::Fresh(_) => self.stats.hits += 1,
            PathLookup::Refresh(..) => {
                self.stats.hits += 1;
                self.stats.refreshes += 1;
                self.mark_sent(place, now_ms);
            }
            PathLookup::Missing(_) => {
                self.stats.misses += 1;
                self.mark_sent(place, now_ms);
            }
            PathLookup::Pending => self.stats.misses += 1,
            PathLookup::Busy => {}
        }
        looked
    }

    /// The first request for a path.
    fn begin(&mut self, key: EntryKey<'_>, accepted: &Accepted, now_ms: u64) -> PathLookup {
        if self.in_flight >= limits::IN_FLIGHT_MAX {
            self.drop_lost(now_ms);
        }
        if self.in_flight >= limits::IN_FLIGHT_MAX {
            return PathLookup::Busy;
        }
        self.stats.misses += 1;
        let place = self.occupy(key);
        self.mark_sent(place, now_ms);
        PathLookup::Missing(first_errand(accepted))
    }

    /// Stores the result of a job. Requests parked for the key must run again in this turn.
    pub fn insert(&mut self, key: EntryKey<'_>, found: LookupResult, now_ms: u64) {
        let place = match (self.place(key), &found) {
            // It was evicted while it was looked up again: the next request begins anew, or has begun.
            (place, LookupResult::Unchanged) if !self.has_entry(place) => {
                return self.make_room(now_ms);
            }
            (Some(place), _) => place,
            (None, _) => self.occupy(key),
        };
        // If the job's slot was evicted, it is not known when the job was sent.
        let sent_ms = self.clear_sent(place).unwrap_or(0);
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else { return };
        // However long the disk took, requests that waited for the answer get it.
        slot.checked_ms = Some(sent_ms.max(now_ms.saturating_sub(limits::FRESH_MS - 1)));
        slot.inserted_ms = now_ms;
        if let LookupResult::Content(content) = found {
            let entry = CachedEntry::new(content);
            let sign = entry.sign();
            let before = slot.cost();
            slot.entry = Some(Rc::new(entry));
            self.stats.bytes = self.stats.bytes + slot.cost() - before;
            self.note_sign(place, sign);
        }
        self.make_room(now_ms);
    }

    /// Takes back the result of [`look`](Self::look): the job could not be sent, or its result is lost.
    pub fn abandon(&mut self, key: EntryKey<'_>) {
        let Some(place) = self.place(key) else { return };
        self.clear_sent(place);
        if !self.has_entry(Some(place)) {
            self.vacate(place);
        }
    }

    /// Makes the result of a path too old to be served, because the file was found to have changed.
    pub fn expire(&mut self, key: EntryKey<'_>) {
        let Some(place) = self.place(key) else { return };
        if let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) {
            slot.checked_ms = None;
        }
    }

    /// Removes everything except running jobs, for example when the rules of a root changed.
    pub fn clear(&mut self) {
        for place in 0..self.slots.len() {
            if self.has_entry(Some(place)) {
                self.vacate(place);
            }
        }
    }

    /// Counters and sizes.
    pub fn stats(&self) -> PathCacheStats {
        let paths = self.slots.len() - self.free.len();
        PathCacheStats { paths, ..self.stats }
    }

    fn place(&self, key: EntryKey<'_>) -> Option<usize> {
        self.places.get(usize::from(key.root.0))?.get(key.path).copied()
    }

    fn has_entry(&self, place: Option<usize>) -> bool {
        place.and_then(|place| self.slot(place)).is_some_and(|slot| slot.entry.is_some())
    }

    fn slot(&self, place: usize) -> Option<&Slot> {
        self.slots.get(place)?.as_ref()
    }

    fn occupy(&mut self, key: EntryKey<'_>) -> usize {
        let root = usize::from(key.root.0);
        if self.places.len() <= root {
            self.places.resize_with(root + 1, HashMap::default);
        }
        let path: Rc<str> = key.path.into();
        let slot = Slot {
            root,
            path: Rc::clone(&path),
            entry: None,
            checked_ms: None,
            inserted_ms: 0,
            sent_ms: None,
            use_mark: UseMark::Unused,
            negative_serial: 0,
        };
        self.stats.bytes += slot.cost();
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[place] = Some(slot);
        self.places[root].insert(path, place);
        place
    }

    fn vacate(&mut self, place: usize) {
        let Some(slot) = self.slots.get_mut(place).and_then(Option::take) else { return };
        self.stats.bytes -= slot.cost();
        self.in_flight -= usize::from(slot.sent_ms.is_some());
        self.places[slot.root].remove(&slot.path);
        self.free.push(place);
    }

    fn mark_sent(&mut self, place: usize, now_ms: u64) {
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else { return };
        if slot.sent_ms.replace(now_ms).is_none() {
            self.in_flight += 1;
        }
    }

    fn clear_sent(&mut self, place: usize) -> Option<u64> {
        let slot = self.slots.get_mut(place).and_then(Option::as_mut)?;
        let sent_ms = slot.sent_ms.take()?;
        self.in_flight -= 1;
        Some(sent_ms)
    }
}

/// Whether a job for a path can be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MaySend {
    Yes,
    UnderWay,
    Full,
}
