//! Requests that have not begun, because pages had used their share of the turn, or older requests of
//! their page wait.
//!
//! Owns the list of these processes. Never begins one: they begin when they continue.

use ahash::HashMap;
use runtime::slots::ProcessId;

use super::counts::RowIndex;

/// The requests that were put off, and how many of each page.
#[derive(Default)]
pub(super) struct PutOff {
    requests: HashMap<ProcessId, RowIndex>,
    of_pages: HashMap<RowIndex, usize>,
}

impl PutOff {
    pub(super) fn add(&mut self, process: ProcessId, page: RowIndex) {
        if self.requests.insert(process, page).is_none() {
            *self.of_pages.entry(page).or_default() += 1;
        }
    }

    /// Removes a request. Returns whether it was there.
    pub(super) fn remove(&mut self, process: ProcessId) -> bool {
        if self.requests.is_empty() {
            return false;
        }
        let Some(page) = self.requests.remove(&process) else { return false };
        if let Some(count) = self.of_pages.get_mut(&page) {
            *count -= 1;
            if *count == 0 {
                self.of_pages.remove(&page);
            }
        }
        true
    }

    /// The page of a request that was put off.
    pub(super) fn page_of(&self, process: ProcessId) -> Option<RowIndex> {
        self.requests.get(&process).copied()
    }

    pub(super) fn has(&self, process: ProcessId) -> bool {
        self.requests.contains_key(&process)
    }

    /// Whether requests of this page were put off.
    pub(super) fn has_any_of(&self, page: RowIndex) -> bool {
        !self.of_pages.is_empty() && self.of_pages.contains_key(&page)
    }
}
