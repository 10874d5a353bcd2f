//! Times counted in buckets whose width grows with the time, as HDR histograms have them.
//!
//! Owns the buckets: 32 for each doubling, so that a bucket is at most 1/32 of its time wide, from 1,024 units of time
//! on. The unit is that of whoever counts: nanoseconds, or ticks of a CPU, which need no division. Counting is a shift
//! and an addition. Reads no clock.

/// Buckets for each doubling, as a power of two.
const SUB_BITS: u32 = 5;

/// Times below this power of two share the first buckets, each this / 32 wide.
const FIRST_BITS: u32 = 10;

/// Doublings that are counted apart. Longer times share the last bucket.
const DOUBLINGS: u32 = 32;

/// Number of buckets.
const BUCKETS: usize = ((DOUBLINGS + 1) << SUB_BITS) as usize;

/// Times in buckets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram(Box<Counted>);

#[derive(Clone, PartialEq, Eq)]
struct Counted {
    counts: [u64; BUCKETS],
    /// A bit for each bucket with a count: whoever reads passes over the others.
    filled: [u64; BUCKETS.div_ceil(64)],
    sum: u64,
}

impl Default for Counted {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], filled: [0; BUCKETS.div_ceil(64)], sum: 0 }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.filled()).finish()
    }
}

impl Histogram {
    /// Counts a time.
    #[inline]
    pub fn count(&mut self, time: u64) {
        let bucket = bucket_of(time);
        let counted = &mut *self.0;
        let count = &mut counted.counts[bucket];
        if *count == 0 {
            counted.filled[bucket / 64] |= 1 << (bucket % 64);
        }
        *count = count.wrapping_add(1);
        counted.sum = counted.sum.wrapping_add(time);
    }

    /// The buckets that are not empty, in order: the longest time that belongs into each, and the number of times in
    /// it.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let words = self.0.filled.iter().enumerate();
        let buckets = words.flat_map(|(place, word)| ones(*word).map(move |one| place * 64 + one));
        buckets.map(|bucket| (longest_of(bucket), self.0.counts[bucket]))
    }

    /// The sum of all times.
    pub fn sum(&self) -> u64 {
        self.0.sum
    }
}

/// The places of the bits that are set, from the lowest on.
fn ones(word: u64) -> impl Iterator<Item = usize> {
    let words = std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)));
    words.take_while(|left| *left != 0).map(|left| left.trailing_zeros() as usize)
}

#[inline]
fn bucket_of(time: u64) -> usize {
    const SHIFT: u32 = FIRST_BITS - SUB_BITS;
    // All times of the first buckets count as if they had their highest bit: they have no doubling.
    let doublings = (time | 1 << (FIRST_BITS - 1)).ilog2() - (FIRST_BITS - 1);
    let within = (time >> (SHIFT + doublings.saturating_sub(1))) as usize & ((1 << SUB_BITS) - 1);
    (((doublings as usize) << SUB_BITS) | within).min(BUCKETS - 1)
}

/// The longest time that belongs into a bucket.
fn longest_of(bucket: usize) -> u64 {
    let shift = FIRST_BITS - SUB_BITS;
    let (doublings, within) =
        ((bucket >> SUB_BITS) as u32, (bucket & ((1 << SUB_BITS) - 1)) as u64);
    let wide = shift + doublings.saturating_sub(1);
    let first = if doublings == 0 { within } else { within | (1 << SUB_BITS) };
    ((first + 1) << wide) - 1
}

/// Histograms by number, each made when something is first counted in it.
#[derive(Clone, Debug, Default)]
pub struct Histograms {
    each: Vec<Option<Histogram>>,
}

impl Histograms {
    /// Counts a time in the histogram of this number.
    #[inline]
    pub fn count(&mut self, number: usize, time: u64) {
        match self.each.get_mut(number) {
            Some(Some(histogram)) => histogram.count(time),
            _ => self.begin(number, time),
        }
    }

    /// Counts the first time in the histogram of this number.
    #[cold]
    fn begin(&mut self, number: usize, time: u64) {
        if self.each.len() <= number {
            self.each.resize_with(number + 1, || None);
        }
        if let Some(histogram) = self.each.get_mut(number) {
            histogram.get_or_insert_default().count(time);
        }
    }

    /// The histogram of this number; `None` if nothing was counted in it.
    pub fn of(&self, number: usize) -> Option<&Histogram> {
        self.each.get(number).and_then(Option::as_ref)
    }

    /// Forgets everything: the numbers mean something else from now on.
    pub fn clear(&mut self) {
        self.each.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_a_bucket_that_is_hardly_longer() {
        let mut last = 0;
        for step in 0..4_000_u64 {
            let time = 1_000_000_000 / 4_000 * step * step / 100 + step;
            let bucket = bucket_of(time);
            assert!(bucket >= last, "buckets are in order");
            last = bucket;
            let longest = longest_of(bucket);
            assert!(
                longest >= time && longest <= time + time / 32 + 32,
                "{time} is at most {longest}"
            );
            assert_eq!(bucket_of(longest), bucket);
            assert_eq!(bucket_of(longest + 1), bucket + 1, "after {longest}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn counted_values_are_reported() {
        let mut times = Histogram::default();
        for time in [5_000, 5_000, 2_000_000, 0] {
            times.count(time);
        }
        let filled: Vec<_> = times.filled().collect();
        assert_eq!(filled.iter().map(|(_, count)| count).sum::<u64>(), 4);
        assert_eq!((filled[0].1, filled[1].1), (1, 2));
        assert_eq!(times.sum(), 2_010_000);
        let all: Vec<u64> = (0..40).map(|doubling| 1_u64 << doubling).collect();
        all.iter().for_each(|time| times.count(*time));
        let told: u64 = times.filled().map(|(_, count)| count).sum();
        assert_eq!(told, 4 + all.len() as u64);
        assert!(times.filled().map(|(longest, _)| longest).is_sorted());
        let mut many = Histograms::default();
        many.count(3, 7);
        assert!(many.of(2).is_none() && many.of(3).is_some() && many.of(4).is_none());
    }
}
