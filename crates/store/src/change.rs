//! Changes: what the writer can do to a database.

use heed::RoTxn;

use crate::failure::{Misuse, StoreFailure};
use crate::limits::{KEY_SIZE, NUMBER_SIZE, RECORD_SIZE, VALUE_SIZE};
use crate::record::Value;
use crate::table::Table;

/// The expiry of a value that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expiry {
    /// It never expires.
    #[default]
    Never,
    /// It expires at that time.
    At(u64),
    /// It keeps the expiry of the value that it replaces.
    Keep,
}

/// The condition under which a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    /// Always.
    #[default]
    Always,
    /// Only if the key does not exist.
    IfAbsent,
    /// Only if the key exists.
    IfPresent,
    /// Only if the value still has this version.
    IfVersion(u64),
}

/// The condition under which an expiry is changed. A key without an expiry counts as one that never expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpiryOnly {
    /// Always.
    #[default]
    Always,
    /// Only if the key has no expiry.
    IfNone,
    /// Only if the key has an expiry.
    IfAny,
    /// Only if the new expiry is later.
    IfLater,
    /// Only if the new expiry is sooner.
    IfSooner,
    /// Only if the key has an expiry, and the new one is sooner.
    IfAnyAndSooner,
}

/// Whether a change also returns the previous value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Old {
    /// No.
    #[default]
    Dropped,
    /// Yes.
    Given,
}

/// Whether the value of a key is copied or moved to another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyTransfer {
    /// The source stays. If it does not exist, the change is not made.
    Copy,
    /// The source is deleted. If it does not exist, this is a [`Misuse::NoSuchKey`].
    Move,
}

/// A key and the bytes to write.
pub type Pair = (Box<[u8]>, Box<[u8]>);

/// One change of one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseChange {
    /// Writes a value. Returns [`StepOutcome::Put`](crate::StepOutcome::Put).
    Put {
        /// The key.
        key: Box<[u8]>,
        /// The value.
        value: Value,
        /// The expiry.
        expiry: Expiry,
        /// The condition.
        only: Only,
        /// Whether to return the previous value.
        old: Old,
    },
    /// Writes several keys, all or none. Returns [`StepOutcome::Made`](crate::StepOutcome::Made).
    PutAll {
        /// The keys and their values.
        pairs: Vec<Pair>,
        /// The condition, which every key must meet.
        only: Only,
    },
    /// Deletes keys. Returns how many existed.
    Delete(Vec<Box<[u8]>>),
    /// Deletes a key if it has this version. Returns [`StepOutcome::Made`](crate::StepOutcome::Made).
    DeleteVersion(Box<[u8]>, u64),
    /// Deletes a key and returns its value.
    Take(Box<[u8]>),
    /// Adds to an integer; a missing key counts as 0. Keeps the expiry. Returns the sum.
    Add(Box<[u8]>, i64),
    /// Appends bytes; a missing key counts as empty. Keeps the expiry. Returns the new length.
    Append(Box<[u8]>, Box<[u8]>),
    /// Overwrites bytes from this place on, behind zeros if the value is shorter; a missing key counts as empty. Keeps
    /// the expiry. Returns the new length. Writing nothing changes nothing.
    Overwrite(Box<[u8]>, usize, Box<[u8]>),
    /// Adds a decimal number to one; a missing key counts as 0. Keeps the expiry. Returns the sum as a value.
    AddDecimal(Box<[u8]>, Box<[u8]>),
    /// Gives a value and its expiry to another key. Returns [`StepOutcome::Made`](crate::StepOutcome::Made).
    Copy {
        /// The key.
        from: Box<[u8]>,
        /// The other key.
        to: Box<[u8]>,
        /// The condition that the other key must meet.
        only: Only,
        /// The fate of the key.
        source: KeyTransfer,
    },
    /// Changes the expiry of a key; an expiry in the past deletes it. Returns
    /// [`StepOutcome::Made`](crate::StepOutcome::Made).
    Expire {
        /// The key.
        key: Box<[u8]>,
        /// The new expiry.
        expiry: Expiry,
        /// The condition.
        only: ExpiryOnly,
    },
    /// Changes the expiry of a key and returns its value.
    Touch(Box<[u8]>, Expiry),
    /// Deletes every key of the database.
    Clear,
    /// Deletes every key of every database for clients.
    ClearAll,
}

impl DatabaseChange {
    /// Writes a value unconditionally.
    pub fn put(key: &[u8], value: Value) -> Self {
        Self::Put {
            key: key.into(),
            value,
            expiry: Expiry::Never,
            only: Only::Always,
            old: Old::Dropped,
        }
    }

    /// Bytes of memory that the change takes while it waits for the writer.
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Put { key, value, .. } => key.len() + value.bytes.len(),
                Self::PutAll { pairs, .. } => {
                    pairs.iter().map(|(key, bytes)| 32 + key.len() + bytes.len()).sum()
                }
                Self::Delete(keys) => keys.iter().map(|key| 16 + key.len()).sum(),
                Self::Append(key, bytes)
                | Self::AddDecimal(key, bytes)
                | Self::Overwrite(key, _, bytes) => key.len() + bytes.len(),
                Self::Copy { from, to, .. } => from.len() + to.len(),
                Self::DeleteVersion(key, _)
                | Self::Take(key)
                | Self::Add(key, _)
                | Self::Expire { key, .. }
                | Self::Touch(key, _) => key.len(),
                Self::Clear | Self::ClearAll => 0,
            }
    }

    /// The keys that the change names.
    pub(crate) fn named_keys(&self) -> Vec<&[u8]> {
        match self {
            Self::PutAll { pairs, .. } => pairs.iter().map(|(key, _)| &**key).collect(),
            Self::Delete(keys) => keys.iter().map(|key| &**key).collect(),
            Self::Copy { from, to, .. } => vec![from, to],
            Self::Put { key, .. }
            | Self::Append(key, _)
            | Self::AddDecimal(key, _)
            | Self::Overwrite(key, ..)
            | Self::DeleteVersion(key, _)
            | Self::Take(key)
            | Self::Add(key, _)
            | Self::Expire { key, .. }
            | Self::Touch(key, _) => vec![key],
            Self::Clear | Self::ClearAll => Vec::new(),
        }
    }

    /// Bytes of the stored value that the change copies, to return it or to rewrite it.
    pub(crate) fn work(
        &self,
        table: &Table,
        transaction: &RoTxn<'_>,
    ) -> Result<usize, StoreFailure> {
        match self {
            Self::Append(key, _)
            | Self::Overwrite(key, ..)
            | Self::Copy { from: key, .. }
            | Self::Expire { key, .. } => length(key, table, transaction),
            _ => self.gives(table, transaction),
        }
    }

    /// Bytes of the stored value that the change returns.
    pub(crate) fn gives(
        &self,
        table: &Table,
        transaction: &RoTxn<'_>,
    ) -> Result<usize, StoreFailure> {
        match self {
            Self::Put { key, old: Old::Given, .. } | Self::Take(key) | Self::Touch(key, _) => {
                length(key, table, transaction)
            }
            _ => Ok(0),
        }
    }

    /// Bytes that the change may write, if it copies so many; 0 if it needs no space that a full store does not have,
    /// or is a [`Misuse`] that writes nothing. So the lengths that a client may choose are bounded by those of values.
    pub(crate) fn growth(&self, copied: usize) -> u64 {
        if self.check().is_err() {
            return 0;
        }
        let bytes = match self {
            Self::Put { key, value, .. } => stored_size(key, value.bytes.len()),
            Self::PutAll { pairs, .. } => {
                pairs.iter().map(|(key, bytes)| stored_size(key, bytes.len())).sum()
            }
            Self::Add(key, _) => stored_size(key, NUMBER_SIZE),
            Self::Append(key, bytes) => stored_size(key, bytes.len() + copied),
            Self::AddDecimal(key, bytes) => stored_size(key, NUMBER_SIZE + bytes.len() + copied),
            Self::Overwrite(.., bytes) if bytes.is_empty() => 0,
            Self::Overwrite(key, at, bytes) => stored_size(key, copied.max(at + bytes.len())),
            Self::Copy { to, .. } => stored_size(to, copied),
            Self::Expire { expiry: Expiry::Never, .. } | Self::Touch(_, Expiry::Never) => 0,
            Self::Expire { key, .. } | Self::Touch(key, _) => stored_size(key, copied),
            Self::Delete(_) | Self::DeleteVersion(..) | Self::Take(_) => 0,
            Self::Clear | Self::ClearAll => 0,
        };
        bytes as u64
    }

    /// Checks keys and values against the limits of the store.
    ///
    /// # Errors
    /// If a key or a value to be written has a size that the store does not accept. Deleting such a key is allowed: it
    /// cannot exist.
    pub fn check(&self) -> Result<(), Misuse> {
        match self {
            Self::Put { key, value, .. } => check(key, &value.bytes),
            Self::PutAll { pairs, .. } => {
                pairs.iter().try_for_each(|(key, bytes)| check(key, bytes))
            }
            Self::Append(key, bytes) => check(key, bytes),
            // As in Redis, the place does not matter if nothing is written.
            Self::Overwrite(key, at, bytes) if !bytes.is_empty() => {
                check(key, bytes)?;
                if at.saturating_add(bytes.len()) > VALUE_SIZE {
                    return Err(Misuse::ValueSize);
                }
                Ok(())
            }
            Self::Overwrite(key, ..) | Self::Copy { to: key, .. } => check(key, b""),
            Self::Add(key, _) | Self::AddDecimal(key, _) => check(key, b""),
            _ => Ok(()),
        }
    }
}

pub(crate) fn check(key: &[u8], bytes: &[u8]) -> Result<(), Misuse> {
    if key.is_empty() || key.len() > KEY_SIZE {
        return Err(Misuse::KeySize);
    }
    if bytes.len() > VALUE_SIZE { Err(Misuse::ValueSize) } else { Ok(()) }
}

/// Bytes of a record in the file, about.
pub(crate) fn stored_size(key: &[u8], bytes: usize) -> usize {
    RECORD_SIZE + key.len() + bytes
}

fn length(key: &[u8], table: &Table, transaction: &RoTxn<'_>) -> Result<usize, StoreFailure> {
    Ok(table.find(transaction, key)?.map_or(0, |record| record.bytes.len()))
}
