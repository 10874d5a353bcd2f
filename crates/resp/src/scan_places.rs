//! Where the scans of Redis clients go on.
//!
//! Owns the keys behind the last numbers that were given, so that most scans go on without a search. A
//! number that is not here is searched for: it is valid all the same.

use std::collections::VecDeque;

use ahash::HashMap;
use store::ScanNumber;

use crate::limits::SCAN_PLACES;

/// The last numbers, and their keys.
#[derive(Debug, Default)]
pub(crate) struct ScanPlaces {
    keys: HashMap<ScanNumber, Box<[u8]>>,
    /// From oldest to newest.
    order: VecDeque<ScanNumber>,
}

impl ScanPlaces {
    /// The key from which the scan with that number goes on.
    pub(crate) fn key(&self, number: ScanNumber) -> Option<&[u8]> {
        self.keys.get(&number).map(|key| &**key)
    }

    /// Remembers a key. Of two with the same number the smaller one is kept, because a scan may return a key twice, and
    /// never leaves one out.
    pub(crate) fn keep(&mut self, number: ScanNumber, key: &[u8]) {
        if let Some(known) = self.keys.get_mut(&number) {
            if *key < **known {
                *known = key.into();
            }
            return;
        }
        if self.order.len() >= SCAN_PLACES
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
        self.order.push_back(number);
        self.keys.insert(number, key.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_numbers_are_known() {
        let mut places = ScanPlaces::default();
        for number in 0..=SCAN_PLACES as u64 {
            places.keep(ScanNumber(number), &number.to_be_bytes());
            places.keep(ScanNumber(number), &[255; 8]);
        }
        assert_eq!(places.key(ScanNumber(0)), None);
        assert_eq!(places.key(ScanNumber(1)), Some(&1_u64.to_be_bytes()[..]));
        assert_eq!((places.keys.len(), places.order.len()), (SCAN_PLACES, SCAN_PLACES));
    }
}
