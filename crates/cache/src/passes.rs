//! Keys whose answers were not stored when they were last asked for.
//!
//! Owns a table of fixed size, so that requests for such a key neither wait for each other nor lose their own
//! conditions. A wrong entry costs only that, for a minute. Never stores an answer.

use crate::limits::PASSED_KEYS;

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Passes(Vec<(u64, u64)>);

impl Passes {
    /// Answers to this key are not stored, as far as is known until then.
    pub(crate) fn note(&mut self, hash: u64, until_ms: u64) {
        self.0.resize(PASSED_KEYS, (0, 0));
        if let Some(place) = self.0.get_mut(place_of(hash)) {
            *place = (hash, until_ms);
        }
    }

    /// An answer was stored.
    pub(crate) fn forget(&mut self, hash: u64) {
        if let Some(place) = self.0.get_mut(place_of(hash)).filter(|place| place.0 == hash) {
            *place = (0, 0);
        }
    }

    /// Whether answers to this key are not stored.
    pub(crate) fn has(&self, hash: u64, now_ms: u64) -> bool {
        let known = self.0.get(place_of(hash));
        known.is_some_and(|(known, until_ms)| *known == hash && now_ms < *until_ms)
    }
}

fn place_of(hash: u64) -> usize {
    // Less than the number of places.
    (hash % PASSED_KEYS as u64) as usize
}
