//! Queries: read operations.
//!
//! Owns how each is answered, from a snapshot or within the writer's transaction.

use heed::RoTxn;

use crate::failure::StoreFailure;
use crate::limits::PAGE_SIZE;
use crate::outcome::{Remaining, StepOutcome};
use crate::page::PageOf;
use crate::record::{Record, StoredEntry};
use crate::table::Table;

/// A read of one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// The value of a key.
    Get(Box<[u8]>),
    /// The values of several keys.
    GetMany(Vec<Box<[u8]>>),
    /// How many of the keys exist; a key that is listed twice counts twice.
    Exists(Vec<Box<[u8]>>),
    /// The length of a value; 0 if the key does not exist.
    Length(Box<[u8]>),
    /// The expiry of a key.
    Remaining(Box<[u8]>),
    /// The kind of a value.
    Kind(Box<[u8]>),
    /// A page of keys.
    Page(PageOf),
    /// The number of keys with an expiry.
    Ending,
    /// The number of keys, including expired ones that are not deleted yet.
    Count,
}

impl Query {
    /// Bytes of memory that the query takes while it waits.
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Get(key) | Self::Length(key) | Self::Remaining(key) | Self::Kind(key) => {
                    key.len()
                }
                Self::GetMany(keys) | Self::Exists(keys) => {
                    keys.iter().map(|key| 16 + key.len()).sum()
                }
                Self::Page(page) => page.size(),
                Self::Count | Self::Ending => 0,
            }
    }

    /// The keys that the query names.
    pub(crate) fn named_keys(&self) -> Vec<&[u8]> {
        match self {
            Self::Get(key) | Self::Length(key) | Self::Remaining(key) | Self::Kind(key) => {
                vec![key]
            }
            Self::GetMany(keys) | Self::Exists(keys) => keys.iter().map(|key| &**key).collect(),
            Self::Page(_) | Self::Count | Self::Ending => Vec::new(),
        }
    }

    /// Bytes of stored values that the query copies.
    pub(crate) fn work(
        &self,
        table: &Table,
        transaction: &RoTxn<'_>,
    ) -> Result<usize, StoreFailure> {
        let keys = match self {
            Self::Get(key) => std::slice::from_ref(key),
            Self::GetMany(keys) => keys,
            Self::Page(_) => return Ok(PAGE_SIZE),
            Self::Exists(_)
            | Self::Length(_)
            | Self::Remaining(_)
            | Self::Kind(_)
            | Self::Ending
            | Self::Count => &[],
        };
        let mut size = 0;
        for key in keys {
            size += table.find(transaction, key)?.map_or(0, |record| record.bytes.len());
        }
        Ok(size)
    }

    pub(crate) fn answer(
        &self,
        table: &Table,
        transaction: &RoTxn<'_>,
        now_ms: u64,
    ) -> Result<StepOutcome, StoreFailure> {
        let get = |key: &[u8]| table.get(transaction, key, now_ms);
        let entry = |record: Option<Record<'_>>| -> Option<StoredEntry> {
            record.map(|record| record.to_entry())
        };
        Ok(match self {
            Self::Get(key) => StepOutcome::Value(entry(get(key)?)),
            Self::GetMany(keys) => {
                let mut values = Vec::with_capacity(keys.len());
                for key in keys {
                    values.push(entry(get(key)?));
                }
                StepOutcome::Values(values)
            }
            Self::Exists(keys) => {
                let mut count = 0;
                for key in keys {
                    count += i64::from(get(key)?.is_some());
                }
                StepOutcome::Number(count)
            }
            Self::Length(key) => {
                StepOutcome::Number(number(get(key)?.map_or(0, |record| record.bytes.len())))
            }
            Self::Remaining(key) => StepOutcome::Remaining(match get(key)? {
                None => Remaining::Missing,
                Some(record) => record.expiry_ms.map_or(Remaining::Endless, Remaining::Until),
            }),
            Self::Kind(key) => StepOutcome::Kind(get(key)?.map(|record| record.kind)),
            Self::Page(page) => StepOutcome::Page(page.answer(table, transaction, now_ms)?),
            Self::Ending => {
                let count = table.ending(transaction)?;
                StepOutcome::Number(i64::try_from(count).unwrap_or(i64::MAX))
            }
            Self::Count => {
                let count = table.count(transaction)?;
                StepOutcome::Number(i64::try_from(count).unwrap_or(i64::MAX))
            }
        })
    }
}

pub(crate) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
