//! Scans by cursor number.
//!
//! Owns the numbers; each refers to a key as long as it is remembered. Redis clients may pass a
//! number back on any connection, so the writer keeps them for all.

use std::collections::BTreeMap;

use crate::limits::CURSORS;

/// Where scans are.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    last: u64,
    /// By number, so that the oldest comes first.
    keys: BTreeMap<u64, Box<[u8]>>,
}

impl Cursors {
    /// The key behind which a scan goes on. A number that is not known, or no longer, begins from the start: keys may come twice, and none is left
    /// out.
    pub(crate) fn key(&self, cursor: u64) -> Option<Box<[u8]>> {
        self.keys.get(&cursor).cloned()
    }

    /// A number for a scan that goes on behind this key; 0 for one that is over.
    pub(crate) fn keep(&mut self, key: Option<&[u8]>) -> u64 {
        let Some(key) = key else { return 0 };
        if self.keys.len() == CURSORS {
            self.keys.pop_first();
        }
        self.last += 1;
        self.keys.insert(self.last, key.into());
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_number_is_forgotten_when_there_are_too_many() {
        let mut cursors = Cursors::default();
        assert_eq!(cursors.keep(None), 0);
        let first = cursors.keep(Some(b"a"));
        assert_eq!(cursors.key(first).as_deref(), Some(&b"a"[..]));
        for _ in 1..CURSORS {
            cursors.keep(Some(b"b"));
        }
        assert!(cursors.key(first).is_some());
        let last = cursors.keep(Some(b"c"));
        assert_eq!(cursors.key(first), None);
        assert_eq!(cursors.key(last).as_deref(), Some(&b"c"[..]));
    }
}
