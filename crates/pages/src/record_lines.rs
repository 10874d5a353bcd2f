//! Queues of pages that change the same keys of the store.
//!
//! Owns which page is first in each queue. A queue is advisory: the store refuses changes that are
//! not based on its last state in any case, so a page that has waited too long continues without
//! being first.

use std::collections::VecDeque;

use actors::RunKey;
use ahash::HashMap;

/// The queues of one scheduler.
#[derive(Default)]
pub(super) struct RecordLines {
    /// The pages of each queue, in order.
    lines: HashMap<Box<[u8]>, VecDeque<RunKey>>,
    /// The queue of each page.
    of: HashMap<RunKey, Box<[u8]>>,
}

impl RecordLines {
    /// Joins a queue. Returns whether the page is first. A page that is already in another queue does not wait, because
    /// two pages could wait for each other for ever.
    pub(super) fn enter(&mut self, key: RunKey, name: &[u8]) -> bool {
        if self.of.contains_key(&key) {
            return true;
        }
        self.of.insert(key, name.into());
        let line = self.lines.entry(name.into()).or_default();
        line.push_back(key);
        line.len() == 1
    }

    /// Leaves the queue. Returns the page that is first now, if the leaving page was first.
    pub(super) fn leave(&mut self, key: RunKey) -> Option<RunKey> {
        if self.of.is_empty() {
            return None;
        }
        let name = self.of.remove(&key)?;
        let line = self.lines.get_mut(&name)?;
        let was_first = line.front() == Some(&key);
        line.retain(|other| *other != key);
        let first = line.front().copied().filter(|_| was_first);
        if line.is_empty() {
            self.lines.remove(&name);
        }
        first
    }

    /// The page has waited too long: leaves the queue, unless it has become first.
    pub(super) fn stop_waiting(&mut self, key: RunKey) {
        let is_first = |line: &VecDeque<RunKey>| line.front() == Some(&key);
        let line = self.of.get(&key).and_then(|name| self.lines.get(name));
        if line.is_some_and(|line| !is_first(line)) {
            self.leave(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime::slots::ProcessId;

    use super::*;

    fn page(number: u64) -> RunKey {
        RunKey::Request(ProcessId::from_bits(number))
    }

    #[test]
    fn pages_are_the_first_in_their_turn_and_nothing_is_left_of_those_that_ended() {
        let mut lines = RecordLines::default();
        assert!(lines.enter(page(1), b"a") && lines.enter(page(9), b"b"));
        assert!(!lines.enter(page(2), b"a") && !lines.enter(page(3), b"a"));
        assert!(lines.enter(page(2), b"b"), "it waits for one line at a time");
        lines.stop_waiting(page(1));
        assert_eq!(lines.leave(page(3)), None, "it was not the first");
        assert_eq!(lines.leave(page(1)), Some(page(2)));
        lines.stop_waiting(page(2));
        assert_eq!((lines.leave(page(2)), lines.leave(page(9))), (None, None));
        assert!(lines.lines.is_empty() && lines.of.is_empty());
        assert!(lines.enter(page(1), b"a") && !lines.enter(page(2), b"a"));
        lines.stop_waiting(page(2));
        assert_eq!(lines.leave(page(1)), None, "it has waited long enough");
    }
}
