//! `KEYS`, and searches for the key of a cursor, over several turns.
//!
//! Owns that one client of a scheduler has one at a time, which bounds the memory, and who comes next. Never reads a
//! key.

use runtime::slots::ProcessId;

/// The list of a running `KEYS`, or the search for the key of a cursor.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The matching keys so far, encoded as a reply.
    pub(crate) keys: Vec<u8>,
    /// The number of matching keys.
    pub(crate) count: usize,
    /// The key at which it goes on in the next turn.
    pub(crate) from: Option<Vec<u8>>,
}

/// The search that is running, and the clients that wait for it.
#[derive(Debug, Default)]
pub(crate) struct Searches {
    current: Option<(ProcessId, Search)>,
    waiting: Vec<ProcessId>,
    /// Clients to resume in the next turn.
    called: Vec<ProcessId>,
}

impl Searches {
    /// Takes the search of a client, new or begun; `None` while another client has one. The client is resumed when it
    /// can start.
    pub(crate) fn take(&mut self, process: ProcessId) -> Option<Search> {
        if self.current.as_ref().is_some_and(|(owner, _)| *owner != process) {
            self.waiting.push(process);
            return None;
        }
        Some(self.current.take().map_or_else(Search::default, |(_, search)| search))
    }

    /// Keeps the search of a client until the next turn.
    pub(crate) fn keep(&mut self, process: ProcessId, search: Search) {
        self.current = Some((process, search));
        self.called.push(process);
    }

    /// A search is done, or its client has ended: the next one may start.
    pub(crate) fn end(&mut self) {
        self.current = None;
        self.called.append(&mut self.waiting);
    }

    /// A client has ended.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        if self.current.as_ref().is_some_and(|(owner, _)| *owner == process) {
            self.end();
        }
    }

    /// Takes the clients to resume.
    pub(crate) fn take_called(&mut self) -> impl Iterator<Item = ProcessId> {
        self.called.drain(..)
    }
}
