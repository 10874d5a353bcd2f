//! Requests that wait for files.

use ahash::HashMap;
use files::{EntryKey, RootIndex};
use runtime::slots::ProcessId;

/// Waiting processes, by root and path.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_root: HashMap<RootIndex, HashMap<Box<str>, Vec<ProcessId>>>,
}

impl Waiting {
    /// A process waits for a path.
    pub(super) fn add(&mut self, key: EntryKey<'_>, process: ProcessId) {
        let paths = self.by_root.entry(key.root).or_default();
        match paths.get_mut(key.path) {
            Some(processes) => processes.push(process),
            None => {
                paths.insert(key.path.into(), vec![process]);
            }
        }
    }

    /// Removes all processes that wait for a path.
    pub(super) fn take(&mut self, key: EntryKey<'_>) -> Vec<ProcessId> {
        let paths = self.by_root.get_mut(&key.root);
        paths.and_then(|paths| paths.remove(key.path)).unwrap_or_default()
    }

    /// Removes all waiting processes.
    pub(super) fn take_all(&mut self) -> Vec<ProcessId> {
        let paths = std::mem::take(&mut self.by_root).into_values().flatten();
        paths.flat_map(|(_, processes)| processes).collect()
    }
}
