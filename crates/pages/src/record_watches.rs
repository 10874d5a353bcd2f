//! Pages that wait for the next commit of the store.
//!
//! Owns which pages wait, and for a commit after which one. Each page finds out itself which keys
//! have changed.

use ahash::HashMap;

use super::process::Key;

/// The pages that wait, with the number of the commit that each has seen.
#[derive(Default)]
pub(super) struct RecordWatches(HashMap<Key, u64>);

impl RecordWatches {
    pub(super) fn wait(&mut self, key: Key, after: u64) {
        self.0.insert(key, after);
    }

    /// A page waits no longer.
    pub(super) fn end(&mut self, key: Key) {
        self.0.remove(&key);
    }

    /// The oldest commit that one of them has seen.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.0.values().copied().min()
    }

    /// All of them, who wait no longer.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Key> {
        std::mem::take(&mut self.0).into_keys()
    }
}
