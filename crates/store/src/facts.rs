//! Facts about the whole store: numbers in a tree of their own.
//!
//! Owns the tree. Never interprets a number.

use heed::types::Bytes;
use heed::{CommitOrAbort, DatabaseOpener, RoTxn, RwTxn, WithoutTls};

use crate::failure::StoreFailure;
use crate::ffi::Env;

/// The name of the tree.
const TREE: &str = "store";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fact {
    /// How many transactions were before the first one of this file.
    Base,
    /// Maximum bytes of the file, as the last program that gave a size gave it.
    Size,
    /// The place of the store in its history, as `replication` writes it.
    Place,
    /// Its knowledge of leaders.
    Standing,
}

impl Fact {
    /// Its key, part of the file format.
    fn key(self) -> &'static [u8] {
        match self {
            Self::Base => b"base",
            Self::Size => b"size",
            Self::Place => b"position",
            Self::Standing => b"standing",
        }
    }

    /// Creates the tree.
    pub(crate) fn create<'e>(
        opener: &DatabaseOpener<'e, WithoutTls>,
        transaction: &mut RwTxn<'e>,
    ) -> Result<(), heed::Error> {
        opener.create_database::<Bytes, Bytes>(transaction, Some(TREE)).map(drop)
    }

    /// Its number, if the store has one.
    pub(crate) fn of(self, map: &Env) -> Result<Option<u64>, StoreFailure> {
        let number = map.open_databases_and_commit(map.read_txn()?, |opener, transaction| {
            let tree = opener.open_database::<Bytes, Bytes>(transaction, Some(TREE))?;
            let stored = match &tree {
                Some(tree) => tree.get(transaction, self.key())?,
                None => None,
            };
            let number = stored.and_then(|bytes| bytes.first_chunk().copied());
            Ok::<_, heed::Error>(CommitOrAbort::<(), _>::Abort(number.map(u64::from_be_bytes)))
        })?;
        Ok(number.abort().flatten())
    }

    /// Writes the number, in a transaction that creates trees.
    pub(crate) fn write<'e>(
        self,
        number: u64,
        opener: &DatabaseOpener<'e, WithoutTls>,
        transaction: &mut RwTxn<'e>,
    ) -> Result<(), heed::Error> {
        let tree = opener.create_database::<Bytes, Bytes>(transaction, Some(TREE))?;
        tree.put(transaction, self.key(), &number.to_be_bytes())
    }
}

/// The tree of a store that has facts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts(heed::Database<'static, Bytes, Bytes>);

impl Facts {
    /// Opens the tree; `None` if the store has no facts.
    pub(crate) fn open(map: &Env) -> Result<Option<Self>, StoreFailure> {
        let opened = map.open_databases_and_commit(map.read_txn()?, |opener, transaction| {
            let tree = opener.open_database::<Bytes, Bytes>(transaction, Some(TREE))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tree))
        })?;
        Ok(opened.commit().flatten().map(Self))
    }

    /// The bytes of a fact.
    pub(crate) fn get<'t>(
        self,
        transaction: &'t RoTxn<'_>,
        fact: Fact,
    ) -> Result<Option<&'t [u8]>, StoreFailure> {
        Ok(self.0.get(transaction, fact.key())?)
    }

    /// Writes the bytes of a fact.
    pub(crate) fn put(
        self,
        transaction: &mut RwTxn<'_>,
        fact: Fact,
        bytes: &[u8],
    ) -> Result<(), StoreFailure> {
        Ok(self.0.put(transaction, fact.key(), bytes)?)
    }
}
