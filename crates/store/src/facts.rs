//! Facts about the whole store: numbers in a tree of their own.
//!
//! Owns the tree. Never interprets a number.

use heed::types::Bytes;
use heed::{CommitOrAbort, DatabaseOpener, Env, RwTxn, WithoutTls};

use crate::failure::StoreFailure;

/// The name of the tree.
const TREE: &str = "store";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fact {
    /// How many transactions were before the first one of this file.
    Base,
    /// Maximum bytes of the file, as the last program that gave a size gave it.
    Size,
}

impl Fact {
    /// Its key, part of the file format.
    fn key(self) -> &'static [u8] {
        match self {
            Self::Base => b"base",
            Self::Size => b"size",
        }
    }

    /// Its number, if the store has one.
    pub(crate) fn of(self, map: &Env<WithoutTls>) -> Result<Option<u64>, StoreFailure> {
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
