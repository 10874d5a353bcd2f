//! The knowledge of a store with a role about the history of its records: kept in its file, and changed in the
//! transaction of what it describes.
//!
//! Owns the keys in the tree of facts and their bytes. Never decides who leads.

use heed::{RoTxn, RwTxn};

use super::bytes::{ByteReader, Coded, Cut, coded};
use super::place::{LeaderTerm, POSITION, StorePosition};
use crate::facts::{Fact, Facts};
use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::limits::TERMS;

/// The place of a store in its history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) position: StorePosition,
    /// The part of the highest version that counts transactions.
    pub(crate) top: u64,
}

impl Place {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(POSITION + 8);
        self.put(&mut out);
        out
    }
}

coded!(struct Place { position, top });

/// The knowledge of a store about leaders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The last term that it has heard of.
    pub heard: LeaderTerm,
    /// Whether this store began that term, and leads.
    pub leads: bool,
    /// The last terms, and the number of the record after which each began.
    pub starts: Vec<(LeaderTerm, u64)>,
}

impl Standing {
    /// The last number of the history that two stores share which have had these terms and are at these numbers. A term
    /// has one leader, so they are the same as long as their terms are.
    pub(crate) fn shared(
        (terms, number): (&[(LeaderTerm, u64)], u64),
        (others, other): (&[(LeaderTerm, u64)], u64),
    ) -> u64 {
        let is_common =
            |(term, _): &(LeaderTerm, u64)| others.iter().any(|(other, _)| other == term);
        let Some((term, _)) = terms.iter().rev().find(|start| is_common(start)) else { return 0 };
        let end = |terms: &[(LeaderTerm, u64)], number| {
            let next = terms.iter().skip_while(|(start, _)| start != term).nth(1);
            next.map_or(number, |(_, begins)| *begins)
        };
        end(terms, number).min(end(others, other))
    }

    /// A term begins after this record.
    pub(crate) fn begin(&mut self, term: LeaderTerm, number: u64) {
        self.starts.retain(|(start, _)| *start < term);
        self.starts.push((term, number));
        let surplus = self.starts.len().saturating_sub(TERMS);
        self.starts.drain(..surplus);
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.heard.put(&mut out);
        self.leads.put(&mut out);
        self.starts.iter().for_each(|start| start.put(&mut out));
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, Cut> {
        let mut bytes = ByteReader::new(bytes);
        let (heard, leads) = (Coded::read(&mut bytes)?, bytes.u8()? == 1);
        let mut starts = Vec::new();
        while !bytes.is_at_end() {
            starts.push(Coded::read(&mut bytes)?);
        }
        Ok(Self { heard, leads, starts })
    }
}

/// The tree of facts of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ledger(Facts);

fn damaged(_cut: Cut) -> StoreFailure {
    StoreFailure::Storage("its place in its history is damaged, or of a later version".to_owned())
}

impl Ledger {
    /// The ledger of an open store; `None` if it has no facts.
    pub(crate) fn open(map: &Env) -> Result<Option<Self>, StoreFailure> {
        Ok(Facts::open(map)?.map(Self))
    }

    /// The place, if the store has a history.
    pub(crate) fn place(&self, transaction: &RoTxn<'_>) -> Result<Option<Place>, StoreFailure> {
        let stored = self.0.get(transaction, Fact::Place)?;
        stored.map(|stored| Place::read(&mut ByteReader::new(stored)).map_err(damaged)).transpose()
    }

    /// Writes the bytes of a place.
    pub(crate) fn put_place(
        &self,
        transaction: &mut RwTxn<'_>,
        place: &[u8],
    ) -> Result<(), StoreFailure> {
        self.0.put(transaction, Fact::Place, place)
    }

    /// Writes how many transactions versions count before the first one of the file.
    pub(crate) fn put_base(
        &self,
        transaction: &mut RwTxn<'_>,
        base: u64,
    ) -> Result<(), StoreFailure> {
        self.0.put(transaction, Fact::Base, &base.to_be_bytes())
    }

    pub(crate) fn standing(&self, transaction: &RoTxn<'_>) -> Result<Standing, StoreFailure> {
        let stored = self.0.get(transaction, Fact::Standing)?;
        Ok(stored
            .map(|stored| Standing::decode(stored).map_err(damaged))
            .transpose()?
            .unwrap_or_default())
    }

    pub(crate) fn put_standing(
        &self,
        transaction: &mut RwTxn<'_>,
        standing: &Standing,
    ) -> Result<(), StoreFailure> {
        self.0.put(transaction, Fact::Standing, &standing.bytes())
    }

    /// The store of a copy leads nothing, and has to hear who does.
    pub(crate) fn forget_role(&self, transaction: &mut RwTxn<'_>) -> Result<(), StoreFailure> {
        let standing = self.standing(transaction)?;
        if standing.leads {
            self.put_standing(transaction, &Standing { leads: false, ..standing })?;
        }
        Ok(())
    }
}
