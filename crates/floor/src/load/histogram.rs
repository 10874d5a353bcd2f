//! A histogram of times with bins that are at most one percent of their value wide.
//!
//! Owns a fixed table, so that recording costs one increment and no allocation for every value.

/// Bins of each doubling of time, as a power of two: 128, so that a bin is at most 0.8 % wide.
const BINS_EXPONENT: u32 = 7;

const BINS: u64 = 1 << BINS_EXPONENT;

/// Bins for every time a `u64` of nanoseconds can hold.
const TABLE: usize = ((64 - BINS_EXPONENT as usize) + 1) << BINS_EXPONENT;

/// The count of each bin.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    most: u64,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { counts: vec![0; TABLE], total: 0, most: 0 }
    }

    /// Records one time.
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.counts[bin(nanoseconds)] += 1;
        self.total += 1;
        self.most = self.most.max(nanoseconds);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The longest time, exact.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The quantile of this share: the upper end of its bin, but at most
    /// the longest time. Zero if nothing was recorded.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_end(index).min(self.most);
            }
        }
        self.most
    }
}

/// Times below two doublings of bins have a bin each; above, the first eight bits choose.
fn bin(nanoseconds: u64) -> usize {
    let shift = (64 - nanoseconds.leading_zeros()).saturating_sub(BINS_EXPONENT + 1);
    let index = u64::from(shift) * BINS + (nanoseconds >> shift);
    usize::try_from(index).expect("less than TABLE")
}

/// The largest time of a bin.
fn upper_end(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * BINS {
        return index;
    }
    let shift = index / BINS - 1;
    let lowest = (index - shift * BINS) << shift;
    lowest + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_bin_and_bins_are_narrow() {
        let times = (0..2_000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX, 999_999_937]);
        for time in times {
            let end = upper_end(bin(time));
            assert!(end >= time, "{time} is above its bin's end {end}");
            assert!(end - time <= time / 100, "{time} is far from its bin's end {end}");
            assert!(bin(time) < TABLE);
        }
        assert!((1..TABLE).all(|index| bin(upper_end(index - 1) + 1) == index));
    }

    #[test]
    fn quantiles_of_a_thousand() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile(0.5), 0);
        (1..=1_000).for_each(|number| histogram.record(number * 1_000));
        let near = |share: f64, wanted: u64| {
            let found = histogram.quantile(share);
            assert!(found >= wanted && found - wanted <= wanted / 100, "{found} for {wanted}");
        };
        near(0.5, 500_000);
        near(0.999, 999_000);
        assert_eq!(histogram.quantile(1.0), 1_000_000);
        assert_eq!((histogram.total(), histogram.most()), (1_000, 1_000_000));
    }
}
