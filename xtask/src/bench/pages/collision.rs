//! Numbers that collide in a table of LuaJIT, whose hash of numbers has no seed (`hashnum` and `hashrot`, lj_tab.c and
//! lj_tab.h of LuaJIT 2.1).
//!
//! Owns the computation from a hash back to the numbers. Uses no randomness: each run has the same numbers.

/// How many numbers with the same hash; as JSON they fit into a request body.
const NUMBERS: usize = 16_000;

const HASH: u32 = 0x1234_5678;

/// A JSON array of numbers that all have the same hash.
pub(super) fn json() -> String {
    let numbers: Vec<String> = colliding(NUMBERS).map(|number| format!("{number:e}")).collect();
    format!("[{}]", numbers.join(","))
}

fn colliding(count: usize) -> impl Iterator<Item = f64> {
    // A step that is odd reaches every value before one repeats.
    (0_u32..).map(|at| at.wrapping_mul(0x9e37_79b1)).filter_map(number_of).take(count)
}

/// The number whose hash is [`HASH`], if the lower half is this value after the steps of `hashrot`.
fn number_of(low: u32) -> Option<f64> {
    // The steps are: l ^= h; h = rol(h, 14); l -= h; h = rol(h, 5); h ^= l; h -= rol(l, 13).
    let high = (HASH.wrapping_add(low.rotate_left(13)) ^ low).rotate_right(5);
    let low = low.wrapping_add(high);
    let high = high.rotate_right(14);
    let low = low ^ high;
    // The upper half was shifted left by one, which removes the sign.
    if high & 1 == 1 {
        return None;
    }
    let number = f64::from_bits(u64::from(high >> 1) << 32 | u64::from(low));
    // Integers may be keys of another kind.
    (number.is_normal() && number.fract() != 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As LuaJIT computes it.
    fn hash(number: f64) -> u32 {
        let bits = number.to_bits();
        let (mut low, mut high) = (bits as u32, ((bits >> 32) as u32) << 1);
        low ^= high;
        high = high.rotate_left(14);
        low = low.wrapping_sub(high);
        high = high.rotate_left(5);
        high ^= low;
        high.wrapping_sub(low.rotate_left(13))
    }

    #[test]
    fn different_numbers_have_one_hash_and_come_back_from_their_text() {
        let text = json();
        let inside = text.trim_matches(['[', ']']).split(',');
        let numbers: Vec<f64> = inside.map(|number| number.parse().expect("a number")).collect();
        assert_eq!(numbers.len(), NUMBERS);
        assert!(numbers.iter().all(|number| hash(*number) == HASH));
        let mut bits: Vec<u64> = numbers.iter().map(|number| number.to_bits()).collect();
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), NUMBERS);
    }
}
