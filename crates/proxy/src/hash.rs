//! A hash that is the same on every scheduler and after every restart.
//!
//! Owns the function: FNV-1a with 64 bits, and a finaliser, because FNV's high bits change little with the last byte.

/// The hash of some bytes. It spreads values over servers and protects nothing.
pub fn hash(bytes: &[u8]) -> u64 {
    let of_bytes = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(of_bytes)
}

/// Spreads each bit over all others (the finaliser of SplitMix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
