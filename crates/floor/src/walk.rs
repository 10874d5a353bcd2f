//! Code that does nothing but take place: the price of a line of code is the slope over how many are executed.
//!
//! Owns functions that are each a little larger than a line of the instruction cache (64 bytes). Never touches memory, so that
//! nothing but code is paid for.

use std::hint::black_box;

/// The most lines that can be executed.
pub(crate) const LINES_MAX: usize = 256;

/// About a dozen instructions of their own for each `N`.
#[inline(never)]
fn line<const N: u64>(seed: u64) -> u64 {
    let odd = N.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mixed = seed.wrapping_mul(odd) ^ (seed >> (N % 31 + 1));
    if mixed == odd.rotate_left(17) {
        return mixed.wrapping_add(odd >> 3);
    }
    mixed.rotate_left((N % 63) as u32 + 1).wrapping_add(odd.rotate_left(29)) ^ (odd >> 5)
}

/// Executes so many of them, rounded up to sixteens. Called by name: a call through a pointer would cost a guess of the processor each.
#[inline]
pub(crate) fn lines(count: usize, seed: u64) {
    let mut sum = 0;
    // None waits for the one before: what is paid for is the code, not a chain of sums.
    macro_rules! sixteen {
        ($($begin:literal)*) => {
            $(if count > $begin {
                sum ^= line::<{ $begin }>(seed) ^ line::<{ $begin + 1 }>(seed);
                sum ^= line::<{ $begin + 2 }>(seed) ^ line::<{ $begin + 3 }>(seed);
                sum ^= line::<{ $begin + 4 }>(seed) ^ line::<{ $begin + 5 }>(seed);
                sum ^= line::<{ $begin + 6 }>(seed) ^ line::<{ $begin + 7 }>(seed);
                sum ^= line::<{ $begin + 8 }>(seed) ^ line::<{ $begin + 9 }>(seed);
                sum ^= line::<{ $begin + 10 }>(seed) ^ line::<{ $begin + 11 }>(seed);
                sum ^= line::<{ $begin + 12 }>(seed) ^ line::<{ $begin + 13 }>(seed);
                sum ^= line::<{ $begin + 14 }>(seed) ^ line::<{ $begin + 15 }>(seed);
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
    fn every_line_is_code_of_its_own() {
        let places = [line::<0>, line::<1>, line::<2>, line::<16>, line::<255>];
        let places: std::collections::BTreeSet<usize> =
            places.iter().map(|line: &fn(u64) -> u64| *line as usize).collect();
        assert_eq!(places.len(), 5);
    }
}
