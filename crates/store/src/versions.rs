//! Versions of values: numbers that are never reused during the life of a store, including its
//! copies.
//!
//! Owns how they are made. The number of the transaction alone is not enough, because a copy counts
//! its transactions from 1 again.

use heed::{CommitOrAbort, RwTxn};

use crate::facts::Fact;
use crate::failure::StoreFailure;
use crate::ffi::Env;

/// Bits of a version that count the changes within a transaction.
const CHANGE_BITS: u32 = 20;

/// The versions of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    /// The number of transactions before the first one of this file.
    base: u64,
}

impl Versions {
    /// Reads the base of a store; a store that was never copied has none.
    pub(crate) fn of(map: &Env) -> Result<Self, StoreFailure> {
        Ok(Self { base: Fact::Base.of(map)?.unwrap_or(0) })
    }

    /// The version before the first change of a transaction.
    pub(crate) fn before(self, transaction: usize) -> u64 {
        (self.base + transaction as u64) << CHANGE_BITS
    }

    /// The versions that follow when so many transactions are counted before this one.
    pub(crate) fn beyond(self, counted: u64, transaction: usize) -> Self {
        Self { base: self.base.max(counted.saturating_sub(transaction as u64)) }
    }

    /// The part of a version that counts transactions.
    pub(crate) fn counted(version: u64) -> u64 {
        version >> CHANGE_BITS
    }

    /// The number of transactions before the first one of this file.
    pub(crate) fn base(self) -> u64 {
        self.base
    }

    /// The versions of a copy: all are greater than those of the original after so many transactions.
    pub(crate) fn of_copy(self, transactions: u64) -> Self {
        Self { base: self.base + transactions }
    }

    /// Writes the base, in one transaction with other changes.
    pub(crate) fn write(
        self,
        map: &Env,
        others: impl FnOnce(&mut RwTxn<'_>) -> Result<(), StoreFailure>,
    ) -> Result<(), StoreFailure> {
        map.create_databases_and_commit(map.write_txn()?, |opener, transaction| {
            others(transaction)?;
            Fact::Base.write(self.base, opener, transaction)?;
            Ok::<_, StoreFailure>(CommitOrAbort::<_, ()>::Commit(()))
        })?;
        Ok(())
    }
}
