//! Times as a histogram: the numbers of the buckets in which something was counted.
//!
//! Owns percentiles, and the difference of two moments. The buckets are those of whoever counted.

use serde::{Deserialize, Serialize};

/// Times that were counted in buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveHistogram {
    /// The sum of all times, in nanoseconds.
    pub sum_ns: u64,
    /// Buckets that are not empty, in order: the time in nanoseconds that a bucket includes at most, and the number of
    /// times in it.
    pub buckets: Vec<(u64, u64)>,
}

/// Percentiles of a histogram, in nanoseconds: each the upper end of its bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Number of times.
    pub count: u64,
    /// The mean.
    pub mean_ns: u64,
    /// Half of all took at most this.
    pub p50_ns: u64,
    /// 90 of 100.
    pub p90_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1,000.
    pub p999_ns: u64,
    /// 9,999 of 10,000.
    pub p9999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl LiveHistogram {
    /// The number of times.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The time in nanoseconds that this share of all took at most; 0 if there are none. A share is at most 1.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank is at most the count, which is far below 2^53"
    )]
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let rank = ((self.count() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (most_ns, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return *most_ns;
            }
        }
        self.buckets.last().map_or(0, |(most_ns, _)| *most_ns)
    }

    /// All percentiles that are shown.
    pub fn quantiles(&self) -> Quantiles {
        let count = self.count();
        Quantiles {
            count,
            mean_ns: self.sum_ns.checked_div(count).unwrap_or(0),
            p50_ns: self.quantile_ns(0.5),
            p90_ns: self.quantile_ns(0.9),
            p99_ns: self.quantile_ns(0.99),
            p999_ns: self.quantile_ns(0.999),
            p9999_ns: self.quantile_ns(0.9999),
            max_ns: self.quantile_ns(1.0),
        }
    }

    /// Adds the times of another one.
    pub fn add(&mut self, other: &Self) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for (most_ns, count) in &other.buckets {
            match self.buckets.binary_search_by_key(most_ns, |bucket| bucket.0) {
                Ok(place) => self.buckets[place].1 += count,
                Err(place) => self.buckets.insert(place, (*most_ns, *count)),
            }
        }
    }

    /// The counts since an earlier moment. If the earlier one is not of the same server, this is the later one.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |most_ns: u64| {
            let found = earlier.buckets.binary_search_by_key(&most_ns, |bucket| bucket.0);
            found.map_or(0, |place| earlier.buckets[place].1)
        };
        let is_later = earlier.buckets.iter().all(|(most_ns, count)| {
            let found = self.buckets.binary_search_by_key(most_ns, |bucket| bucket.0);
            found.is_ok_and(|place| self.buckets[place].1 >= *count)
        });
        if !is_later {
            return self.clone();
        }
        let grown =
            self.buckets.iter().map(|(most_ns, count)| (*most_ns, count - before(*most_ns)));
        let buckets = grown.filter(|(_, count)| *count > 0).collect();
        Self { sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns), buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_upper_ends_of_their_buckets() {
        let times = LiveHistogram { sum_ns: 10_000, buckets: vec![(10, 98), (20, 1), (500, 1)] };
        let told = times.quantiles();
        assert_eq!((told.count, told.mean_ns), (100, 100));
        assert_eq!((told.p50_ns, told.p90_ns, told.p99_ns), (10, 10, 20));
        assert_eq!((told.p999_ns, told.max_ns), (500, 500));
        assert_eq!(LiveHistogram::default().quantiles(), Quantiles::default());
    }

    #[test]
    fn a_difference_has_what_was_added() {
        let earlier = LiveHistogram { sum_ns: 30, buckets: vec![(10, 1), (20, 1)] };
        let added = LiveHistogram { sum_ns: 45, buckets: vec![(10, 1), (15, 1), (20, 1)] };
        let mut later = earlier.clone();
        later.add(&added);
        assert_eq!(later.since(&earlier), added);
        assert_eq!(later.since(&later), LiveHistogram::default());
        // The server was started again between the two moments.
        assert_eq!(earlier.since(&later), earlier);
    }
}
