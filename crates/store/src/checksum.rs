//! Checksums of records that a power failure may have cut off.

/// The 64-bit word at an offset; 0 beyond the end.
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_ne_bytes(*word))
}

/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>). It detects incomplete records, not tampering.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
