//! The store as one thread reads it during a turn.
//!
//! Owns the thread's snapshot, from the first read to the end of the turn, or to the first reader that begins after a
//! later commit. Readers on the thread share it, so one that runs without a pause sees one state. Also owns the count
//! of the keys that are used most, because clients and pages come by here.

use std::cell::{Cell, Ref, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::failure::StoreFailure;
use crate::hot_keys::HotKeys;
use crate::lending::{Lender, LentValue, Loans};
use crate::order::Database;
use crate::snapshot::Snapshot;
use crate::store::Store;

/// A snapshot that outlives its turn. The writer reuses none of its pages meanwhile. Clones share it.
#[derive(Clone)]
pub struct HeldSnapshot(Rc<Lender>);

impl HeldSnapshot {
    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }
}

impl fmt::Debug for HeldSnapshot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HeldSnapshot").finish_non_exhaustive()
    }
}

/// A store with the snapshot of the current turn.
pub struct TurnStore {
    store: Store,
    snapshot: RefCell<Option<Rc<Lender>>>,
    loans: RefCell<Loans>,
    /// The store's count of full failures when this thread last looked.
    full: Cell<u64>,
    /// The keys that are used most, while somebody asks.
    hot_keys: RefCell<Option<Box<HotKeys>>>,
}

impl TurnStore {
    /// The store for the calling thread.
    pub fn new(store: Store) -> Self {
        Self {
            full: Cell::new(store.times_full()),
            store,
            snapshot: RefCell::new(None),
            loans: RefCell::default(),
            hot_keys: RefCell::default(),
        }
    }

    /// The store itself.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The snapshot of the current turn. The turn must not end while it is borrowed.
    ///
    /// # Errors
    /// If no snapshot can be taken.
    pub fn snapshot(&self) -> Result<Ref<'_, Snapshot>, StoreFailure> {
        self.lender().map(|lender| Ref::map(lender, |lender| &lender.snapshot))
    }

    fn lender(&self) -> Result<Ref<'_, Rc<Lender>>, StoreFailure> {
        if let Ok(lender) = Ref::filter_map(self.snapshot.borrow(), Option::as_ref) {
            return Ok(lender);
        }
        let begun = Lender::new(self.store.snapshot()?);
        self.snapshot.replace(Some(Rc::new(begun)));
        Ref::filter_map(self.snapshot.borrow(), Option::as_ref)
            .map_err(|_| StoreFailure::Storage("it has no snapshot".to_owned()))
    }

    /// Lends the value of a key that has this version in this turn. The loan ends when the handle is dropped, or after
    /// [`LENT_TIME_MS`](crate::limits::LENT_TIME_MS). `None` if so many snapshots are lent that the value has to be
    /// copied.
    ///
    /// # Errors
    /// If no snapshot can be taken.
    pub fn lend(
        &self,
        database: Database,
        key: &[u8],
        version: u64,
        now_ms: u64,
    ) -> Result<Option<LentValue>, StoreFailure> {
        let current = self.lender()?;
        self.loans.borrow_mut().lend(&current, (database, key, version), now_ms)
    }

    /// The snapshot of the current turn, for a reply that takes several turns. A thread may hold
    /// [`HELD_SNAPSHOTS`](crate::limits::HELD_SNAPSHOTS).
    ///
    /// # Errors
    /// If no snapshot can be taken.
    pub fn hold(&self) -> Result<HeldSnapshot, StoreFailure> {
        Ok(HeldSnapshot(Rc::clone(&*self.lender()?)))
    }

    /// As [`lend`](Self::lend), for a key that has this version in a snapshot that is held.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn lend_from(
        &self,
        held: &HeldSnapshot,
        place: (Database, &[u8], u64),
        now_ms: u64,
    ) -> Result<Option<LentValue>, StoreFailure> {
        self.loans.borrow_mut().lend(&held.0, place, now_ms)
    }

    /// The number of snapshots from which values are lent. While it is not 0, `end_turn` must be called regularly.
    pub fn lent(&self) -> usize {
        self.loans.borrow_mut().count()
    }

    /// Clients or pages use these keys, which are counted while somebody asks for those that are used most.
    #[inline]
    pub fn note_uses<'k, K>(&self, keys: impl FnOnce() -> K)
    where
        K: IntoIterator<Item = (Database, &'k [u8])>,
    {
        if let Some(hot_keys) = &mut *self.hot_keys.borrow_mut() {
            keys().into_iter().for_each(|(database, key)| hot_keys.note(database, key));
        }
    }

    /// The keys that are used most, since somebody began to ask for them, with the number of their uses.
    pub fn each_hot_key(&self, now_ms: u64, mut take: impl FnMut(Database, &[u8], u64)) {
        let mut hot_keys = self.hot_keys.borrow_mut();
        let hot_keys = hot_keys.get_or_insert_with(|| Box::new(HotKeys::new(now_ms)));
        hot_keys.extend(now_ms);
        hot_keys.counts().for_each(|(database, key, uses)| take(database, key, uses));
    }

    /// Ends the turn and its snapshot, so the writer can reuse the pages, except those that are lent. The next read
    /// sees the last commit.
    pub fn end_turn(&self, now_ms: u64) {
        self.end_snapshot();
        let full = self.store.times_full();
        let mut loans = self.loans.borrow_mut();
        if self.full.replace(full) != full {
            loans.take_back_all();
        }
        loans.take_back_old(now_ms);
        self.hot_keys.borrow_mut().take_if(|keys| keys.is_over(now_ms));
    }

    /// Ends the snapshot if there is a later commit. To be called before something runs that may follow from that
    /// commit, as a request does whose client has heard of it: a turn may last, and takes in requests meanwhile.
    pub fn renew(&self) {
        let is_old = |known: &Rc<Lender>| known.snapshot.commit() != self.store.newest_commit();
        if self.snapshot.borrow().as_ref().is_some_and(is_old) {
            self.end_snapshot();
        }
    }

    /// Ends the snapshot: the next read sees the last commit.
    pub fn end_snapshot(&self) {
        self.snapshot.replace(None);
    }
}

impl fmt::Debug for TurnStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TurnStore").field("store", &self.store).finish_non_exhaustive()
    }
}
