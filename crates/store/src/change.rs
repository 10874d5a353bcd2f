//! Changes that a writer can make.

use heed::RoTxn;

use crate::failure::{Failure, Misuse};
use crate::limits::{KEY_SIZE, VALUE_SIZE};
use crate::record::Value;
use crate::table::Table;

/// When a value ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expiry {
    /// Never.
    #[default]
    Never,
    /// At that time.
    At(u64),
    /// As before.
    Keep,
}

/// What a key must be for its value to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    /// Anything.
    #[default]
    Always,
    /// Not there.
    IfAbsent,
    /// There.
    IfPresent,
    /// Of this version.
    IfVersion(u64),
}

/// What the expiry of a key must be to be changed. A key without one counts as endless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpiryOnly {
    /// Anything.
    #[default]
    Always,
    /// None.
    IfNone,
    /// One.
    IfAny,
    /// Sooner than the new one.
    IfLater,
    /// Later than the new one.
    IfSooner,
}

/// Whether a change gives the value that was there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Old {
    /// It does not.
    #[default]
    Dropped,
    /// It does.
    Given,
}

/// A key and its bytes.
pub type Pair = (Box<[u8]>, Box<[u8]>);

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Writes a value: [`Outcome::Put`](crate::Outcome::Put).
    Put {
        /// Its key.
        key: Box<[u8]>,
        /// The value.
        value: Value,
        /// When it ends.
        expiry: Expiry,
        /// Under which condition.
        only: Only,
        /// Whether the value before is given.
        old: Old,
    },
    /// Writes bytes of many keys, all or none: [`Outcome::Made`](crate::Outcome::Made).
    PutAll {
        /// Keys and their bytes.
        pairs: Vec<Pair>,
        /// What all keys must be.
        only: Only,
    },
    /// Deletes keys; gives how many were there.
    Delete(Vec<Box<[u8]>>),
    /// Deletes a key if it has this version: [`Outcome::Made`](crate::Outcome::Made).
    DeleteVersion(Box<[u8]>, u64),
    /// Deletes a key and gives its value.
    Take(Box<[u8]>),
    /// Adds to a whole number, from 0 where there is none; gives the sum. The expiry stays.
    Add(Box<[u8]>, i64),
    /// Appends bytes, to nothing where there is no value; gives the new length. The expiry stays.
    Append(Box<[u8]>, Box<[u8]>),
    /// Changes when a value ends; [`Outcome::Made`](crate::Outcome::Made). A time that is over deletes it.
    Expire {
        /// The key.
        key: Box<[u8]>,
        /// When it ends.
        expiry: Expiry,
        /// Under which condition.
        only: ExpiryOnly,
    },
    /// Gives a value and changes when it ends.
    Touch(Box<[u8]>, Expiry),
    /// Deletes all keys of the database.
    Clear,
}

impl Change {
    /// Writes a value, whatever was there.
    #[must_use]
    pub fn put(key: &[u8], value: Value) -> Self {
        Self::Put {
            key: key.into(),
            value,
            expiry: Expiry::Never,
            only: Only::Always,
            old: Old::Dropped,
        }
    }

    /// Bytes that it holds in memory while it waits.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Put { key, value, .. } => key.len() + value.bytes.len(),
                Self::PutAll { pairs, .. } => {
                    pairs.iter().map(|(key, bytes)| 32 + key.len() + bytes.len()).sum()
                }
                Self::Delete(keys) => keys.iter().map(|key| 16 + key.len()).sum(),
                Self::Append(key, bytes) => key.len() + bytes.len(),
                Self::DeleteVersion(key, _)
                | Self::Take(key)
                | Self::Add(key, _)
                | Self::Expire { key, .. }
                | Self::Touch(key, _) => key.len(),
                Self::Clear => 0,
            }
    }

    /// Bytes of the value that is there which it copies, to give it or to write it anew.
    pub(crate) fn work(&self, table: &Table, transaction: &RoTxn<'_>) -> Result<usize, Failure> {
        match self {
            Self::Append(key, _) | Self::Expire { key, .. } => length(key, table, transaction),
            _ => self.gives(table, transaction),
        }
    }

    /// Bytes of the value that is there which it gives.
    pub(crate) fn gives(&self, table: &Table, transaction: &RoTxn<'_>) -> Result<usize, Failure> {
        match self {
            Self::Put { key, old: Old::Given, .. } | Self::Take(key) | Self::Touch(key, _) => {
                length(key, table, transaction)
            }
            _ => Ok(0),
        }
    }

    /// Whether it may need room that a full store does not have.
    pub(crate) fn may_grow(&self) -> bool {
        match self {
            Self::Put { .. } | Self::PutAll { .. } | Self::Add(..) | Self::Append(..) => true,
            Self::Expire { expiry, .. } | Self::Touch(_, expiry) => *expiry != Expiry::Never,
            Self::Delete(_) | Self::DeleteVersion(..) | Self::Take(_) | Self::Clear => false,
        }
    }

    /// Whether it can be done at all.
    ///
    /// # Errors
    /// When what is written has a key or a value of another size than the store takes. A key that cannot be there may be deleted.
    pub(crate) fn check(&self) -> Result<(), Misuse> {
        match self {
            Self::Put { key, value, .. } => check(key, &value.bytes),
            Self::PutAll { pairs, .. } => {
                pairs.iter().try_for_each(|(key, bytes)| check(key, bytes))
            }
            Self::Append(key, bytes) => check(key, bytes),
            Self::Add(key, _) => check(key, b""),
            _ => Ok(()),
        }
    }
}

fn check(key: &[u8], bytes: &[u8]) -> Result<(), Misuse> {
    if key.is_empty() || key.len() > KEY_SIZE {
        return Err(Misuse::KeySize);
    }
    if bytes.len() > VALUE_SIZE { Err(Misuse::ValueSize) } else { Ok(()) }
}

fn length(key: &[u8], table: &Table, transaction: &RoTxn<'_>) -> Result<usize, Failure> {
    Ok(table.find(transaction, key)?.map_or(0, |record| record.bytes.len()))
}
