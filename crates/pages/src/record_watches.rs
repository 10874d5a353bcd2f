//! Pages that wait for the next commit of the store.
//!
//! Owns which pages wait, and after which commit. Each page finds out which keys
//! have changed.

use actors::RunKey;
use ahash::HashMap;

/// The waiting pages, each with the commit that it has seen.
#[derive(Default)]
pub(super) struct RecordWatches(HashMap<RunKey, u64>);

impl RecordWatches {
    pub(super) fn wait(&mut self, key: RunKey, after: u64) {
        self.0.insert(key, after);
    }

    /// A page no longer waits.
    pub(super) fn end(&mut self, key: RunKey) {
        self.0.remove(&key);
    }

    /// The oldest commit that a waiting page has seen.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.0.values().copied().min()
    }

    /// Removes and returns all pages.
    pub(super) fn take(&mut self) -> impl Iterator<Item = RunKey> {
        std::mem::take(&mut self.0).into_keys()
    }
}
