//! Code that only occupies instruction cache: the cost of code is the slope over the amount executed.
//!
//! Owns functions of 96 bytes each, one and a half lines of the instruction cache. Never touches memory, so that only
//! the code is measured.

use std::hint::black_box;

/// The number of functions.
pub(crate) const FUNCTIONS: usize = 256;

/// About a dozen instructions of their own for each `N`.
#[inline(never)]
fn function<const N: u64>(seed: u64) -> u64 {
    let odd = N.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mixed = seed.wrapping_mul(odd) ^ (seed >> (N % 31 + 1));
    if mixed == odd.rotate_left(17) {
        return mixed.wrapping_add(odd >> 3);
    }
    mixed.rotate_left((N % 63) as u32 + 1).wrapping_add(odd.rotate_left(29)) ^ (odd >> 5)
}

/// Executes this many of them, rounded up to sixteens. They are called by name: a call through a pointer could be
/// mispredicted each time.
#[inline]
pub(crate) fn through(count: usize, seed: u64) {
    let mut sum = 0;
    // The calls do not depend on each other: the code is measured, not a chain of additions.
    macro_rules! sixteen {
        ($($begin:literal)*) => {
            $(if count > $begin {
                sum ^= function::<{ $begin }>(seed) ^ function::<{ $begin + 1 }>(seed);
                sum ^= function::<{ $begin + 2 }>(seed) ^ function::<{ $begin + 3 }>(seed);
                sum ^= function::<{ $begin + 4 }>(seed) ^ function::<{ $begin + 5 }>(seed);
                sum ^= function::<{ $begin + 6 }>(seed) ^ function::<{ $begin + 7 }>(seed);
                sum ^= function::<{ $begin + 8 }>(seed) ^ function::<{ $begin + 9 }>(seed);
                sum ^= function::<{ $begin + 10 }>(seed) ^ function::<{ $begin + 11 }>(seed);
                sum ^= function::<{ $begin + 12 }>(seed) ^ function::<{ $begin + 13 }>(seed);
                sum ^= function::<{ $begin + 14 }>(seed) ^ function::<{ $begin + 15 }>(seed);
            })*
        };
    }
    sixteen!(0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240);
    black_box(sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_code_of_its_own() {
        let places = [function::<0>, function::<1>, function::<2>, function::<16>, function::<255>];
        let places: std::collections::BTreeSet<usize> =
            places.iter().map(|function: &fn(u64) -> u64| *function as usize).collect();
        assert_eq!(places.len(), 5);
    }
}
