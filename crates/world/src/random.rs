//! Reproducible random numbers.
//!
//! Owns the generator (SplitMix64). Not fit for secrets: a few numbers are enough to compute all others.

/// A probability of one in this module's unit, parts per million.
pub const ALWAYS: u32 = 1_000_000;

/// A generator of random numbers. The same seed gives the same numbers on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that starts from `seed`; neighbouring seeds give unrelated numbers.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.state)
    }

    /// A number below `bound`; 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("the upper half of 128 bits")
    }

    /// An index below `length`; 0 if the length is 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("not above a usize")
    }

    /// Returns true with this probability per million. Zero draws no number, so that a fault
    /// that is off does not change the others.
    pub fn chance(&mut self, probability_per_million: u32) -> bool {
        probability_per_million > 0
            && self.below(u64::from(ALWAYS)) < u64::from(probability_per_million)
    }

    /// Shuffles a slice.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }
}

/// Spreads every bit over all others (the finalizer of SplitMix64).
pub(super) const fn scramble(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first outputs of the reference implementation for seed 1234567.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn below_reaches_every_number_and_none_beyond() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 6];
        for _ in 0..6_000 {
            seen[random.index(6)] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn chance_keeps_its_promise_at_both_ends() {
        let mut random = Random::new(9);
        let before = random.clone();
        assert!((0..100).all(|_| !random.chance(0)));
        assert_eq!(random, before, "what is off draws nothing");
        assert!((0..1000).all(|_| random.chance(ALWAYS)));
        let hits = (0..10_000).filter(|_| random.chance(ALWAYS / 4)).count();
        assert!((2_300..2_700).contains(&hits), "{hits}");
    }

    #[test]
    fn shuffling_keeps_all() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(1).shuffle(&mut items);
        assert!(items.windows(2).any(|pair| pair[0] > pair[1]));
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
