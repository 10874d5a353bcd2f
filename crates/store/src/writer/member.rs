//! The abilities of the writer of a store with replicas, and of that of a replica.
//!
//! Owns the transactions: each changes the place of the store together with what it describes. Never decides who leads.

use std::path::PathBuf;
use std::sync::Arc;

use heed::RwTxn;

use super::Writer;
use crate::failure::StoreFailure;
use crate::limits::TERM_VERSIONS;
use crate::log::{Logged, repeat};
use crate::record::Record;
use crate::replication::{
    CommitRecord, Continuation, History, LeaderClock, LeaderTerm, Ledger, Place, SetAside,
    SnapshotSpool, Standing, StorePosition, Unfollowed, copy_aside, place_aside, set_aside,
};
use crate::table::Table;
use crate::versions::Versions;

/// Why records were not applied. The store is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplied {
    /// One does not continue the history.
    #[error("a record does not follow ({0:?})")]
    Unfollowed(Unfollowed),
    /// One is damaged.
    #[error("a record is damaged, or of a version that this one does not know")]
    Damaged,
    /// The leader has a database that this store has not been opened with.
    #[error("there is no database `{0}` here: add it to `databases` in [store] and restart")]
    NoDatabase(String),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreFailure),
}

impl Writer {
    /// Begins to make records, or to apply them. To be called once, before the first order.
    ///
    /// # Errors
    /// If the store was not opened as a member, or its files cannot be read.
    pub fn join(&mut self) -> Result<(), StoreFailure> {
        let (map, ledger) = (self.map.clone(), self.ledger()?);
        SnapshotSpool::clean(map.path());
        let snapshot = map.read_txn()?;
        let history = History::open(ledger, &snapshot, map.path())?;
        self.continuation = Some(Continuation::Recorded(Box::new(history)));
        Ok(())
    }

    /// The knowledge about leaders of a store that has a history, whether the writer joins it or not.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn written_standing(&self) -> Result<Option<Standing>, StoreFailure> {
        let Some(ledger) = self.continuation.as_ref().map(Continuation::ledger) else {
            return Ok(None);
        };
        let snapshot = self.map.read_txn()?;
        let has_history = ledger.place(&snapshot)?.is_some();
        has_history.then(|| ledger.standing(&snapshot)).transpose()
    }

    pub(super) fn ledger(&self) -> Result<Ledger, StoreFailure> {
        let ledger = self.continuation.as_ref().map(Continuation::ledger);
        ledger.ok_or_else(|| StoreFailure::Storage("it was not opened for replicas".to_owned()))
    }

    pub(super) fn history(&mut self) -> Result<&mut History, StoreFailure> {
        let recorded = self.continuation.as_mut().and_then(Continuation::recorded);
        recorded.ok_or_else(|| StoreFailure::Storage("it has not joined its history".to_owned()))
    }

    /// Where the store is in its history; `None` if it has none. Notices commits of other programs.
    ///
    /// # Errors
    /// If the writer has not joined, or the file cannot be read.
    pub fn position(&mut self) -> Result<Option<StorePosition>, StoreFailure> {
        let map = self.map.clone();
        let snapshot = map.read_txn()?;
        let history = self.history()?;
        history.look(&snapshot)?;
        Ok(history.place().map(|place| place.position))
    }

    /// The knowledge of the store about leaders.
    ///
    /// # Errors
    /// If the writer has not joined.
    pub fn standing(&mut self) -> Result<&Standing, StoreFailure> {
        self.history().map(|history| history.standing())
    }

    /// Takes the records of the commits since the last call.
    pub fn take_records(&mut self) -> Vec<Arc<[u8]>> {
        self.history().map(History::take_fresh).unwrap_or_default()
    }

    /// The hash after the record of this number, if it is still known.
    pub fn hash_at(&mut self, number: u64) -> Option<u64> {
        let history = self.history().ok()?;
        let position = history.place()?.position;
        if number == position.number {
            return Some(position.hash);
        }
        history.kept().hash_at(number)
    }

    /// Records after this number, at most so many bytes, but at least one. `None` if the next one is not kept any more.
    pub fn records_after(&mut self, number: u64, bytes: usize) -> Option<Vec<Arc<[u8]>>> {
        let history = self.history().ok()?;
        if history.place()?.position.number == number {
            return Some(Vec::new());
        }
        history.kept().after(number, bytes).ok().flatten()
    }

    /// The clock of the leader.
    pub(crate) fn clock(&self) -> &LeaderClock {
        &self.clock
    }

    /// The names of all databases.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The directory of the store.
    pub(crate) fn directory(&self) -> PathBuf {
        self.map.path().to_owned()
    }

    /// Whether no database has a key.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn is_empty(&self) -> Result<bool, StoreFailure> {
        let snapshot = self.map.read_txn()?;
        for table in self.tables.iter() {
            if table.count(&snapshot)? > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Begins a history in which this store leads.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn found(&mut self, origin: u64, by: u64) -> Result<LeaderTerm, StoreFailure> {
        let term = LeaderTerm::default().next(by);
        let versions = self.versions;
        self.change_standing(|place, standing, transaction| {
            let top = Versions::counted(versions.before(transaction.id()));
            *place = Some(Place { position: StorePosition::founded(origin, term), top });
            *standing = Standing { heard: term, leads: true, starts: vec![(term, 0)] };
            Ok(())
        })?;
        Ok(term)
    }

    /// Makes this store the leader, with a term after all that it has heard of. The first record of the term has no
    /// changes.
    ///
    /// # Errors
    /// If the store has no history, or the file cannot be written.
    pub fn promote(&mut self, by: u64, now_ms: u64) -> Result<LeaderTerm, StoreFailure> {
        let mut versions = self.versions;
        let ledger = self.history()?.ledger();
        let mut term = LeaderTerm::default();
        self.change_standing(|place, standing, transaction| {
            let Some(place) = place else { return Err(StoreFailure::Replica) };
            term = standing.heard.max(place.position.term).next(by);
            standing.begin(term, place.position.number);
            (standing.heard, standing.leads) = (term, true);
            place.top += TERM_VERSIONS;
            versions = versions.beyond(place.top, transaction.id());
            ledger.put_base(transaction, versions.base())
        })?;
        self.versions = versions;
        self.begin_term(now_ms)?;
        Ok(term)
    }

    /// Makes the first record of a term.
    fn begin_term(&mut self, now_ms: u64) -> Result<(), StoreFailure> {
        let map = self.map.clone();
        let (_lock, mut transaction) = self.begin(&map)?;
        self.entry.reset();
        if let Some(continuation) = &mut self.continuation {
            continuation.add(&mut self.entry, &mut transaction, (0, now_ms))?;
        }
        self.write_logged(transaction)
    }

    /// A term has begun somewhere else: this store leads no more.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn hear(&mut self, term: LeaderTerm) -> Result<(), StoreFailure> {
        self.change_standing(|_, standing, _| {
            if term > standing.heard {
                (standing.heard, standing.leads) = (term, false);
            }
            Ok(())
        })
    }

    /// Changes the place and the standing, and waits for the disk.
    fn change_standing(
        &mut self,
        change: impl FnOnce(
            &mut Option<Place>,
            &mut Standing,
            &mut RwTxn<'_>,
        ) -> Result<(), StoreFailure>,
    ) -> Result<(), StoreFailure> {
        let map = self.map.clone();
        let (lock, mut transaction) = self.begin(&map)?;
        let history = self.history()?;
        history.look(&transaction)?;
        let ledger = history.ledger();
        let (before, mut standing) = (history.place(), history.standing().clone());
        let mut place = before;
        change(&mut place, &mut standing, &mut transaction)?;
        if let Some(place) = place {
            ledger.put_place(&mut transaction, &place.bytes())?;
        }
        ledger.put_standing(&mut transaction, &standing)?;
        transaction.commit().map_err(|error| self.checkpoints.why_not_written(error))?;
        drop(lock);
        let history = self.history()?;
        history.stand(standing);
        history.stay_at(place);
        self.settle_standing()
    }

    /// Waits until the disk has what the log has not.
    pub(super) fn settle_standing(&mut self) -> Result<(), StoreFailure> {
        if self.keeper.is_some() { self.sync() } else { Ok(()) }
    }

    /// Applies records of a leader in one transaction, in order.
    ///
    /// # Errors
    /// If one does not continue the history; none is applied then.
    pub fn apply(&mut self, records: &[Arc<[u8]>]) -> Result<(), NotApplied> {
        let map = self.map.clone();
        let (_lock, mut transaction) = self.begin(&map)?;
        let history = self.history()?;
        history.look(&transaction)?;
        let (ledger, heard) = (history.ledger(), history.term());
        let mut place = history.place().ok_or(NotApplied::Unfollowed(Unfollowed::Broken))?;
        let standing = history.standing().clone();
        let mut begun = None;
        self.entry.reset();
        let mut position = place.position;
        for bytes in records {
            let record = CommitRecord::decode(bytes).map_err(|_| NotApplied::Damaged)?;
            let before = position;
            position = record.after(&before).map_err(NotApplied::Unfollowed)?;
            if position.term > before.term {
                begun.get_or_insert_with(|| standing.clone()).begin(position.term, before.number);
            }
            if record.term > heard {
                return Err(NotApplied::Unfollowed(Unfollowed::Fenced));
            }
            self.entry.add_changes(record.change_bytes());
            for change in record.changes() {
                let (name, change) = change.map_err(|_| NotApplied::Damaged)?;
                let table = named(&self.names, &self.tables, name)?;
                place.top = place.top.max(counted(change));
                repeat(table, &mut transaction, change)?;
            }
        }
        let (entry, next) = (&mut self.entry, (place, records.to_vec()));
        if let Some(history) = self.continuation.as_mut().and_then(Continuation::recorded) {
            history.advance(entry, &mut transaction, next)?;
        }
        if let Some(standing) = &begun {
            ledger.put_standing(&mut transaction, standing)?;
        }
        self.write_logged(transaction)?;
        // Nobody follows a replica.
        self.take_records();
        if let Some(standing) = begun {
            self.history()?.stand(standing);
            // The log has only places.
            self.settle_standing()?;
        }
        Ok(())
    }

    /// Sets aside the records after this number next to the store, because its history goes on without them: in a file,
    /// or, if the store has not all of them any more, as a copy of the whole store.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn set_aside(&mut self, shared: u64) -> Result<Option<SetAside>, StoreFailure> {
        let map = self.map.clone();
        let history = self.history()?;
        let Some(mut aside) = place_aside(history, map.path(), shared) else { return Ok(None) };
        if !set_aside(history, &mut aside)? {
            copy_aside(&map, &mut aside)?;
        }
        Ok(Some(aside))
    }
}

pub(super) fn named(names: &[String], tables: &[Table], name: &str) -> Result<Table, NotApplied> {
    let at = names.iter().position(|known| known == name);
    at.and_then(|at| tables.get(at)).copied().ok_or_else(|| NotApplied::NoDatabase(name.to_owned()))
}

/// The part of the version of a change that counts transactions.
pub(super) fn counted(change: Logged<'_>) -> u64 {
    match change {
        Logged::Put(_, stored) => {
            Record::decode(stored).map_or(0, |record| Versions::counted(record.version))
        }
        _ => 0,
    }
}
