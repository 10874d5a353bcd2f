//! Scans: visits of keys in order, and the numbers by which Redis clients name a place among them.
//!
//! Owns what a number means. It is made of the key and of the number of the store's file, so it is valid until the file
//! is replaced (by compaction or a restored copy; then a scan may return keys again), and the store remembers nothing:
//! 16 bits are the key's first two bytes, which keep the order of keys, and 47 bits are a hash of the key. The key is
//! found again by hashing those with the same two bytes.

use std::ops::{Bound, ControlFlow};

use crate::failure::StoreFailure;
use crate::order::Database;
use crate::snapshot::{Ends, Snapshot};

/// Bits of the hash in a number.
const HASH_BITS: u32 = 47;

/// A key that a scan visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visited<'k> {
    /// The key.
    pub key: &'k [u8],
    /// Whether it has expired. Its record is still in the file.
    pub is_expired: bool,
}

/// The number of a key: from 1 to below 2^63, because some clients take it for signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScanNumber(pub u64);

impl ScanNumber {
    /// The number of this key in a store with that seed ([`Store::scan_seed`](crate::Store::scan_seed)).
    pub fn of(key: &[u8], seed: u64) -> Self {
        // FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>, whose bits are then mixed as in SplitMix64.
        let mut hash = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in key {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        let group = u64::from(u16::from_be_bytes(first_bytes(key)));
        // 0 would be the end of a scan.
        Self(((group << HASH_BITS) | (hash >> (64 - HASH_BITS))).max(1))
    }

    /// The first key that a key with this number may be; those before it are no longer of interest.
    pub fn group_start(self) -> Vec<u8> {
        match self.group().to_be_bytes() {
            [first, 0] => vec![first],
            both => both.to_vec(),
        }
    }

    /// Whether a key comes after all that may have this number.
    pub fn is_before_group_of(self, key: &[u8]) -> bool {
        self.group() < u16::from_be_bytes(first_bytes(key))
    }

    fn group(self) -> u16 {
        u16::try_from(self.0 >> HASH_BITS).unwrap_or(u16::MAX)
    }
}

fn first_bytes(key: &[u8]) -> [u8; 2] {
    [key.first().copied().unwrap_or(0), key.get(1).copied().unwrap_or(0)]
}

impl Snapshot {
    /// The first and the last key, expired or not.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn ends(&self, database: Database) -> Result<Ends<Vec<u8>>, StoreFailure> {
        let ends = self.first_and_last(database)?;
        Ok(ends.map(|(first, last)| (first.to_vec(), last.to_vec())))
    }

    /// Visits keys in order, from this one on (an empty one: from the first), until `visit` breaks off.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn visit(
        &self,
        database: Database,
        from: &[u8],
        now_ms: u64,
        mut visit: impl FnMut(Visited<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        let now_ms = self.expiry_clock(now_ms);
        // LMDB cannot search for an empty key.
        let begin = if from.is_empty() { Bound::Unbounded } else { Bound::Included(from) };
        for found in self.range(database, begin)? {
            let (key, record) = found?;
            let visited = Visited { key, is_expired: !record.is_there(now_ms) };
            if visit(visited).is_break() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_the_same_in_every_version() {
        assert_eq!(ScanNumber::of(b"user:1", 7), ScanNumber::of(b"user:1", 7));
        assert_ne!(ScanNumber::of(b"user:1", 7), ScanNumber::of(b"user:1", 8));
        assert_eq!(ScanNumber::of(b"user:1", 0).0, PINNED);
    }

    const PINNED: u64 = 4_231_581_860_985_915_734;

    proptest! {
        #[test]
        fn a_key_is_in_its_group(key in prop::collection::vec(any::<u8>(), 1..5), seed: u64) {
            let number = ScanNumber::of(&key, seed);
            prop_assert!(number.0 > 0 && number.0 < 1 << 63);
            prop_assert!(number.group_start() <= key);
            prop_assert!(!number.is_before_group_of(&key));
        }

        #[test]
        fn groups_follow_each_other_as_their_keys_do(
            one in prop::collection::vec(any::<u8>(), 1..4),
            other in prop::collection::vec(any::<u8>(), 1..4),
        ) {
            let (first, second) = if one < other { (one, other) } else { (other, one) };
            let (low, high) = (ScanNumber::of(&first, 0), ScanNumber::of(&second, 0));
            prop_assert!(!high.is_before_group_of(&first));
            if low.is_before_group_of(&second) {
                prop_assert!(high.group_start() > first);
            }
        }
    }
}
