//! How the commits of a writer continue the history of its store.
//!
//! Owns the place that this writer knows, and the records that it has made and nobody has taken yet. A commit of a
//! program without this (an import, for example) only marks its place: nobody has its record, so replicas take a
//! snapshot. Never decides who leads.

use std::path::Path;
use std::sync::Arc;

use heed::{RoTxn, RwTxn};

use super::kept::KeptRecords;
use super::ledger::{Ledger, Place, Standing};
use super::place::{LeaderTerm, StorePosition};
use super::record::CommitRecord;
use crate::checksum::sum;
use crate::failure::StoreFailure;
use crate::limits::RECORD_MOST;
use crate::log::Entry;

/// How a writer continues the history of its store.
#[derive(Debug)]
pub(crate) enum Continuation {
    /// It makes or applies records.
    Recorded(Box<History>),
    /// It is that of another program.
    Marked(Ledger),
}

/// The history of a store, as its writer knows it.
#[derive(Debug)]
pub(crate) struct History {
    ledger: Ledger,
    /// Where the store is; `None` before it has a history.
    place: Option<Place>,
    standing: Standing,
    kept: KeptRecords,
    /// Records that were committed and not taken.
    fresh: Vec<Arc<[u8]>>,
    /// The place after the current transaction, if it is committed.
    next: Option<(Place, Vec<Arc<[u8]>>)>,
}

impl Continuation {
    /// Refuses to begin a transaction that no leader has ordered.
    pub(crate) fn check_leads(&self, transaction: &RoTxn<'_>) -> Result<(), StoreFailure> {
        let leads = match self {
            Self::Recorded(history) => history.standing.leads,
            Self::Marked(ledger) => {
                ledger.place(transaction)?.is_none() || ledger.standing(transaction)?.leads
            }
        };
        if leads { Ok(()) } else { Err(StoreFailure::Replica) }
    }

    /// Adds the record of a transaction that is about to be committed, whose highest version counts so many
    /// transactions.
    pub(crate) fn add(
        &mut self,
        entry: &mut Entry,
        transaction: &mut RwTxn<'_>,
        (top, time_ms): (u64, u64),
    ) -> Result<(), StoreFailure> {
        match self {
            Self::Recorded(history) => history.add(entry, transaction, (top, time_ms)),
            Self::Marked(ledger) => mark(*ledger, transaction),
        }
    }

    /// Where the place is kept.
    pub(crate) fn ledger(&self) -> Ledger {
        match self {
            Self::Recorded(history) => history.ledger,
            Self::Marked(ledger) => *ledger,
        }
    }

    /// The transaction was committed, or not.
    pub(crate) fn settle(&mut self, is_done: &Result<(), StoreFailure>) {
        if let Self::Recorded(history) = self {
            history.settle(is_done);
        }
    }

    /// The history, if this writer makes or applies its records.
    pub(crate) fn recorded(&mut self) -> Option<&mut History> {
        match self {
            Self::Recorded(history) => Some(history),
            Self::Marked(_) => None,
        }
    }
}

/// A commit without a record.
pub(crate) fn mark(ledger: Ledger, transaction: &mut RwTxn<'_>) -> Result<(), StoreFailure> {
    let Some(mut place) = ledger.place(transaction)? else { return Ok(()) };
    let number = place.position.number + 1;
    let hash = sum(&[&place.position.hash.to_le_bytes()[..], b"no record"].concat());
    place.position = StorePosition { number, hash, ..place.position };
    ledger.put_place(transaction, &place.bytes())
}

impl History {
    /// The history of a store that nobody writes now.
    pub(crate) fn open(
        ledger: Ledger,
        transaction: &RoTxn<'_>,
        directory: &Path,
    ) -> Result<Self, StoreFailure> {
        let (place, standing) = (ledger.place(transaction)?, ledger.standing(transaction)?);
        let kept = KeptRecords::open(directory, &place.unwrap_or_default().position)?;
        Ok(Self { ledger, place, standing, kept, fresh: Vec::new(), next: None })
    }

    pub(crate) fn ledger(&self) -> Ledger {
        self.ledger
    }

    pub(crate) fn place(&self) -> Option<Place> {
        self.place
    }

    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    pub(crate) fn kept(&self) -> &KeptRecords {
        &self.kept
    }

    /// The records since the last call.
    pub(crate) fn take_fresh(&mut self) -> Vec<Arc<[u8]>> {
        std::mem::take(&mut self.fresh)
    }

    /// Learns what another program has committed.
    pub(crate) fn look(&mut self, transaction: &RoTxn<'_>) -> Result<(), StoreFailure> {
        let stored = self.ledger.place(transaction)?;
        if stored != self.place {
            self.kept.clear()?;
            self.place = stored;
        }
        Ok(())
    }

    fn add(
        &mut self,
        entry: &mut Entry,
        transaction: &mut RwTxn<'_>,
        (top, time_ms): (u64, u64),
    ) -> Result<(), StoreFailure> {
        self.look(transaction)?;
        let Some(place) = self.place else { return Ok(()) };
        let StorePosition { number, hash, .. } = place.position;
        let step = (self.standing.heard, number + 1, hash);
        let record: Arc<[u8]> = CommitRecord::encode(step, time_ms, entry.change_bytes()).into();
        let top = place.top.max(top);
        self.advance(entry, transaction, (Place { top, ..place }, vec![record]))
    }

    /// Adds records to the transaction, whose changes are made in it.
    pub(crate) fn advance(
        &mut self,
        entry: &mut Entry,
        transaction: &mut RwTxn<'_>,
        (mut place, records): (Place, Vec<Arc<[u8]>>),
    ) -> Result<(), StoreFailure> {
        for bytes in &records {
            let record = CommitRecord::decode(bytes).map_err(|_| torn())?;
            let CommitRecord { term, number, hash, .. } = record;
            place.position = StorePosition { term, number, hash, ..place.position };
            self.kept.append(bytes)?;
        }
        let bytes = place.bytes();
        self.ledger.put_place(transaction, &bytes)?;
        entry.add_place(&bytes);
        self.next = Some((place, records));
        Ok(())
    }

    fn settle(&mut self, is_done: &Result<(), StoreFailure>) {
        let Some((place, records)) = self.next.take() else { return };
        if is_done.is_ok() {
            self.place = Some(place);
            self.fresh.extend(records.into_iter().filter(|record| record.len() <= RECORD_MOST));
        } else {
            let number = self.place.map_or(0, |place| place.position.number);
            // Without room for that, too, what is kept is checked when it is opened again.
            let _full = self.kept.take_back(number);
        }
    }

    /// The store is somewhere else, by a transaction that was committed.
    pub(crate) fn move_to(&mut self, place: Place) -> Result<(), StoreFailure> {
        self.place = Some(place);
        self.fresh.clear();
        self.kept.clear()
    }

    /// The place has other numbers, by a transaction that was committed, and the same record.
    pub(crate) fn stay_at(&mut self, place: Option<Place>) {
        self.place = place;
    }

    /// The standing has changed, by a transaction that was committed.
    pub(crate) fn stand(&mut self, standing: Standing) {
        self.standing = standing;
    }

    /// The term in which records are made.
    pub(crate) fn term(&self) -> LeaderTerm {
        self.standing.heard
    }
}

pub(crate) fn torn() -> StoreFailure {
    StoreFailure::Storage("a record that was sent is damaged".to_owned())
}
