//! The events of each second of a run.
//!
//! Owns the series and a small histogram for each second, coarse enough to keep them all and to merge them. Never
//! allocates after it was built, and never replaces the exact distribution of the whole run.

use std::ops::Range;

use crate::limits::{LATENCY_MAXIMUM_NS, SECONDS_MAXIMUM};

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Tenths of a second.
const TENTHS: usize = 10;

/// Nanoseconds of a tenth.
const TENTH_NS: u64 = SECOND_NS / TENTHS as u64;

/// The binary logarithm of how many buckets divide each doubling: a bucket is a thirty-second of its value wide.
const DIVISIONS_LOG2: u32 = 5;

/// Buckets that reach to 2^36 ns, beyond [`LATENCY_MAXIMUM_NS`]: 4 KiB a second.
const BUCKETS: usize = 1024;

const _: () = assert!(bucket(LATENCY_MAXIMUM_NS) < BUCKETS);

/// The events of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered as expected.
    pub answered: u64,
    /// Requests that failed, of any kind.
    pub failed: u64,
    /// The answered ones by tenths of the second: a stall of some 200 ms is seen here alone.
    pub answered_tenths: [u64; TENTHS],
}

/// The series of seconds since the counting began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seconds {
    current: usize,
    current_end_ns: u64,
    counts: Vec<Second>,
    /// For each second its [`BUCKETS`], one after the other.
    buckets: Vec<u32>,
}

impl Seconds {
    /// A series for a run of the given length, one second more for its end, at most [`SECONDS_MAXIMUM`].
    pub(super) fn new(duration_ns: u64) -> Seconds {
        let wanted = usize::try_from(duration_ns.div_ceil(SECOND_NS)).unwrap_or(SECONDS_MAXIMUM);
        let length = wanted.saturating_add(1).min(SECONDS_MAXIMUM);
        Seconds {
            current: 0,
            // Until it is known when anything begins, everything is in the first second.
            current_end_ns: u64::MAX,
            counts: vec![Second::default(); length],
            buckets: vec![0; length * BUCKETS],
        }
    }

    /// Has the seconds begin, and forgets what was counted: as many of them as were reached.
    pub(super) fn begin(&mut self, start_ns: u64) {
        let used = self.current + 1;
        self.counts[..used].fill(Second::default());
        self.buckets[..used * BUCKETS].fill(0);
        self.current = 0;
        self.current_end_ns = start_ns.saturating_add(SECOND_NS);
    }

    #[inline]
    pub(super) fn send(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.counts[self.current].sent += 1;
    }

    #[inline]
    pub(super) fn answer(&mut self, now_ns: u64, response_ns: u64) {
        self.advance(now_ns);
        let begin_ns = self.current_end_ns.saturating_sub(SECOND_NS);
        let tenth = now_ns.saturating_sub(begin_ns) / TENTH_NS;
        let counts = &mut self.counts[self.current];
        counts.answered += 1;
        // The last second also counts the answers that come after its end.
        counts.answered_tenths[(tenth as usize).min(TENTHS - 1)] += 1;
        let bucket = bucket(response_ns.min(LATENCY_MAXIMUM_NS));
        let count = &mut self.buckets[self.current * BUCKETS + bucket];
        *count = count.saturating_add(1);
    }

    #[inline]
    pub(super) fn fail(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.counts[self.current].failed += 1;
    }

    /// Goes on to the second that holds the moment; the last one holds everything after it.
    #[inline]
    fn advance(&mut self, now_ns: u64) {
        while now_ns >= self.current_end_ns && self.current + 1 < self.counts.len() {
            self.current += 1;
            self.current_end_ns = self.current_end_ns.saturating_add(SECOND_NS);
        }
    }

    pub(super) fn merge(&mut self, other: &Seconds) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), Second::default());
            self.buckets.resize(other.buckets.len(), 0);
        }
        if other.current > self.current {
            self.current = other.current;
            self.current_end_ns = other.current_end_ns;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.sent += theirs.sent;
            mine.answered += theirs.answered;
            mine.failed += theirs.failed;
            for (mine, theirs) in mine.answered_tenths.iter_mut().zip(theirs.answered_tenths) {
                *mine += theirs;
            }
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// The seconds up to the last one in which something happened.
    pub fn counts(&self) -> &[Second] {
        &self.counts[..=self.current]
    }

    /// How many seconds there is room for.
    pub fn capacity(&self) -> usize {
        self.counts.len()
    }

    /// The response time that the given share (0 to 1) of the answers of a second did not exceed, in nanoseconds, at
    /// most a thirty-second too long; zero when there were none.
    pub fn quantile_ns(&self, second: usize, share: f64) -> u64 {
        self.quantile_of(second..second.saturating_add(1), share)
    }

    /// The same of what was answered lately: in the second that runs and the one before it. It takes some microseconds,
    /// however much was counted.
    pub fn recent_quantile_ns(&self, now_ns: u64, share: f64) -> u64 {
        let is_last = self.current + 1 == self.counts.len();
        let recent = match now_ns.checked_sub(self.current_end_ns) {
            Some(past_ns) if !is_last && past_ns >= SECOND_NS => return 0,
            // Nothing happened in the second that runs.
            Some(_) if !is_last => self.current..self.current + 1,
            _ => self.current.saturating_sub(1)..self.current + 1,
        };
        self.quantile_of(recent, share)
    }

    fn quantile_of(&self, seconds: Range<usize>, share: f64) -> u64 {
        let of = seconds.start.saturating_mul(BUCKETS)..seconds.end.saturating_mul(BUCKETS);
        let Some(buckets) = self.buckets.get(of) else { return 0 };
        let count_of = |bucket: usize| -> u64 {
            buckets.chunks_exact(BUCKETS).map(|second| u64::from(second[bucket])).sum()
        };
        let total: u64 = buckets.iter().map(|count| u64::from(*count)).sum();
        if total == 0 {
            return 0;
        }
        let wanted = ((share * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0u64;
        let reached = (0..BUCKETS).find(|bucket| {
            seen += count_of(*bucket);
            seen >= wanted
        });
        reached.map_or(0, |bucket| longest(bucket).min(LATENCY_MAXIMUM_NS))
    }
}

/// The bucket of a time: exact below 2^6, then the leading six bits.
const fn bucket(nanoseconds: u64) -> usize {
    // The lowest bits are all told apart.
    let exponent = (nanoseconds | (1 << DIVISIONS_LOG2)).ilog2() - DIVISIONS_LOG2;
    ((exponent as usize) << DIVISIONS_LOG2) + (nanoseconds >> exponent) as usize
}

/// The longest time of a bucket.
const fn longest(bucket: usize) -> u64 {
    let divisions = 1 << DIVISIONS_LOG2;
    if bucket < 2 * divisions {
        return bucket as u64;
    }
    let exponent = bucket / divisions - 1;
    let leading = (bucket - exponent * divisions) as u64;
    ((leading + 1) << exponent) - 1
}
