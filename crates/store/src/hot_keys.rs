//! The keys of the store that are used most, while somebody wants to know.
//!
//! Owns an estimate by the algorithm of Misra and Gries (Finding repeated elements, 1982): a key that is used more
//! often than one in [`HOT_KEYS`] is among them, and its count is too low by at most that share. Nothing is counted
//! when nobody asks, and no value is seen.

use ahash::HashMap;

use crate::limits::{HOT_KEY_SIZE, HOT_KEYS, HOT_KEYS_MS};
use crate::order::Database;

/// Keys and how often they were used since the counting began.
#[derive(Debug)]
pub(crate) struct HotKeys {
    until_ms: u64,
    counts: HashMap<(Database, Box<[u8]>), u64>,
}

impl HotKeys {
    /// None yet.
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { until_ms: now_ms + HOT_KEYS_MS, counts: HashMap::default() }
    }

    /// Somebody still wants to know.
    pub(crate) fn extend(&mut self, now_ms: u64) {
        self.until_ms = now_ms + HOT_KEYS_MS;
    }

    /// Whether nobody has asked for long.
    pub(crate) fn is_over(&self, now_ms: u64) -> bool {
        now_ms > self.until_ms
    }

    /// A key is used.
    #[cold]
    pub(crate) fn note(&mut self, database: Database, key: &[u8]) {
        let key: Box<[u8]> = key[..key.len().min(HOT_KEY_SIZE)].into();
        if let Some(count) = self.counts.get_mut(&(database, key.clone())) {
            *count += 1;
        } else if self.counts.len() < HOT_KEYS {
            self.counts.insert((database, key), 1);
        } else {
            // Each use of a key without a place takes one from all that have one.
            self.counts.retain(|_, count| {
                *count -= 1;
                *count > 0
            });
        }
    }

    /// The keys with their counts.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Database, &[u8], u64)> {
        self.counts.iter().map(|((database, key), count)| (*database, &**key, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequent_key_is_among_the_kept_ones_whatever_else_is_used() {
        let mut keys = HotKeys::new(0);
        for number in 0..100_000_u32 {
            let key = if number % 10 == 0 { "hot".to_owned() } else { format!("cold {number}") };
            keys.note(Database::default(), key.as_bytes());
        }
        assert!(keys.counts().count() <= HOT_KEYS);
        let hot = keys.counts().find(|(_, key, _)| *key == b"hot").map(|(.., count)| count);
        let missing = 100_000 / HOT_KEYS as u64;
        assert!(
            hot.is_some_and(|count| count <= 10_000 && count + missing + 1 >= 10_000),
            "{hot:?}"
        );
        assert!(!keys.is_over(HOT_KEYS_MS) && keys.is_over(HOT_KEYS_MS + 1));
    }
}
