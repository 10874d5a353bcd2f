//! The store as one thread reads it for a turn.
//!
//! Owns the thread's only snapshot, from the first look at it to the end of the turn. All who read on the thread share it, so that they see the same.

use std::cell::{Ref, RefCell};
use std::fmt;

use crate::failure::Failure;
use crate::snapshot::Snapshot;
use crate::store::Store;

/// A store with the snapshot of a turn.
pub struct TurnStore {
    store: Store,
    snapshot: RefCell<Option<Snapshot>>,
}

impl TurnStore {
    /// The store for this thread, which has no other snapshot of it.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, snapshot: RefCell::new(None) }
    }

    /// The store itself.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store as it is in this turn. The turn does not end while it is held.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn snapshot(&self) -> Result<Ref<'_, Snapshot>, Failure> {
        if let Ok(snapshot) = Ref::filter_map(self.snapshot.borrow(), Option::as_ref) {
            return Ok(snapshot);
        }
        let begun = self.store.snapshot()?;
        self.snapshot.replace(Some(begun));
        Ref::filter_map(self.snapshot.borrow(), Option::as_ref)
            .map_err(|_| Failure::Storage("it has no snapshot".to_owned()))
    }

    /// The turn ends, and with it the snapshot: the writer may use the pages that it saw again. What is read next is as the last commit left it.
    pub fn end_turn(&self) {
        self.snapshot.replace(None);
    }
}

impl fmt::Debug for TurnStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TurnStore").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}
