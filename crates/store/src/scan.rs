//! Cursors of scans.
//!
//! Owns the numbers; each stands for a key. Redis clients may send a
//! cursor on any connection, so the writer keeps the cursors of all clients.

use std::collections::BTreeMap;

use crate::limits::CURSORS;

/// The cursors in use.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    last: u64,
    /// By number, so the oldest comes first.
    keys: BTreeMap<u64, Box<[u8]>>,
}

impl Cursors {
    /// The key behind which the scan continues. An unknown or forgotten cursor restarts the scan: it may return keys twice but skips
    /// none.
    pub(crate) fn key(&self, cursor: u64) -> Option<Box<[u8]>> {
        self.keys.get(&cursor).cloned()
    }

    /// Returns a cursor for a scan that continues behind this key; 0 for a finished scan.
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
