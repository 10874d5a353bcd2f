//! Random numbers for choices, from a seed.
//!
//! Owns the generator (SplitMix64). Never for secrets.

use crate::hash::mix;

/// A generator.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below this one, or 0.
    pub(crate) fn below(&mut self, most: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // The high half times the bound, as a fraction: every number is as likely up to one part in 2^32 / bound.
        let high = mix(self.0) >> 32;
        ((high * u64::from(most)) >> 32) as u32
    }
}
