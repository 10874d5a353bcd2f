//! One database in the file: a tree of records and a tree of expiry times.
//!
//! Owns that the two agree. A key of the second tree is eight bytes of time followed by the key; it has no
//! value.

use std::ops::Bound;

use heed::types::Bytes;
use heed::{CommitOrAbort, PutFlags, RoTxn, RwTxn};

use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::limits::KEY_SIZE;
use crate::record::Record;

type Tree = heed::Database<'static, Bytes, Bytes>;

/// The trees of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) records: Tree,
    pub(crate) expiries: Tree,
    whose: Whose,
}

/// The users of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Whoever the program lets use the store.
    Clients,
    /// The program alone.
    Program,
}

fn damaged() -> StoreFailure {
    StoreFailure::Storage(
        "a record is damaged, or of a later version; `velodrome store check`".to_owned(),
    )
}

impl Table {
    /// The names of the trees.
    pub(crate) fn trees(name: &str) -> [String; 2] {
        [format!("keys:{name}"), format!("expiries:{name}")]
    }

    /// Opens the trees of an existing database.
    pub(crate) fn open(map: &Env, name: &str, whose: Whose) -> Result<Self, StoreFailure> {
        let opened = map.open_databases_and_commit(map.read_txn()?, |opener, transaction| {
            let [keys, expiries] = Self::trees(name);
            let tree = |name: &str| opener.open_database::<Bytes, Bytes>(transaction, Some(name));
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit((tree(&keys)?, tree(&expiries)?)))
        })?;
        match opened.commit() {
            Some((Some(records), Some(expiries))) => Ok(Self { records, expiries, whose }),
            _ => Err(StoreFailure::Storage(format!("the database `{name}` is missing"))),
        }
    }

    /// Whether clients can name it.
    pub(crate) fn is_of_clients(&self) -> bool {
        self.whose == Whose::Clients
    }

    /// Returns the record of a key, even if it has expired.
    pub(crate) fn find<'t>(
        &self,
        transaction: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<Option<Record<'t>>, StoreFailure> {
        if key.is_empty() || key.len() > KEY_SIZE {
            return Ok(None);
        }
        let Some(stored) = self.records.get(transaction, key)? else { return Ok(None) };
        Record::decode(stored).map(Some).ok_or_else(damaged)
    }

    /// Returns the record of a key that has not expired.
    pub(crate) fn get<'t>(
        &self,
        transaction: &'t RoTxn<'_>,
        key: &[u8],
        now_ms: u64,
    ) -> Result<Option<Record<'t>>, StoreFailure> {
        Ok(self.find(transaction, key)?.filter(|record| record.is_there(now_ms)))
    }

    /// The number of keys, including expired ones.
    pub(crate) fn count(&self, transaction: &RoTxn<'_>) -> Result<u64, StoreFailure> {
        Ok(self.records.len(transaction)?)
    }

    /// The number of keys with an expiry.
    pub(crate) fn ending(&self, transaction: &RoTxn<'_>) -> Result<u64, StoreFailure> {
        Ok(self.expiries.len(transaction)?)
    }

    /// The records from a key on, in order.
    pub(crate) fn range<'t>(
        &self,
        transaction: &'t RoTxn<'_>,
        begin: Bound<&[u8]>,
    ) -> Result<impl Iterator<Item = Result<(&'t [u8], Record<'t>), StoreFailure>>, StoreFailure>
    {
        let range = (begin, Bound::<&[u8]>::Unbounded);
        let found = self.records.range(transaction, &range)?;
        Ok(found.map(|entry| {
            let (key, stored) = entry?;
            Ok((key, Record::decode(stored).ok_or_else(damaged)?))
        }))
    }

    /// The stored records behind a key, in order; from the first one on, if the key is empty.
    pub(crate) fn stored_after<'t>(
        &self,
        transaction: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<heed::RoRange<'t, Bytes, Bytes>, StoreFailure> {
        // LMDB cannot search for an empty key.
        let begin = if key.is_empty() { Bound::Unbounded } else { Bound::Excluded(key) };
        Ok(self.records.range(transaction, &(begin, Bound::<&[u8]>::Unbounded))?)
    }

    /// Writes an encoded record over one with that expiry.
    pub(crate) fn put(
        &self,
        transaction: &mut RwTxn<'_>,
        key: &[u8],
        stored: &[u8],
        (before, now): (Option<u64>, Option<u64>),
    ) -> Result<(), StoreFailure> {
        if before != now {
            if let Some(before) = before {
                self.expiries.delete(transaction, &expiry_key(before, key))?;
            }
            if let Some(now) = now {
                self.expiries.put(transaction, &expiry_key(now, key), &[])?;
            }
        }
        self.records.put(transaction, key, stored)?;
        Ok(())
    }

    /// Appends a record with the greatest key.
    pub(crate) fn append(
        &self,
        transaction: &mut RwTxn<'_>,
        key: &[u8],
        stored: &[u8],
        expiry: Option<u64>,
    ) -> Result<(), StoreFailure> {
        if let Some(time) = expiry {
            self.expiries.put(transaction, &expiry_key(time, key), &[])?;
        }
        self.records.put_with_flags(transaction, PutFlags::APPEND, key, stored)?;
        Ok(())
    }

    /// Checks that every record can be read and that both trees agree. Returns the number of records, or what is wrong.
    pub(crate) fn check(
        &self,
        transaction: &RwTxn<'_>,
    ) -> Result<Result<u64, String>, StoreFailure> {
        let (mut count, mut with_expiry) = (0, 0);
        for entry in self.records.iter(transaction)? {
            let (key, stored) = entry?;
            let shown = String::from_utf8_lossy(key).into_owned();
            let Some(record) = Record::decode(stored) else {
                return Ok(Err(format!("the record of key {shown:?} cannot be read")));
            };
            count += 1;
            if let Some(expiry) = record.expiry_ms {
                with_expiry += 1;
                if self.expiries.get(transaction, &expiry_key(expiry, key))?.is_none() {
                    return Ok(Err(format!(
                        "key {shown:?} ends, and is not in the list of those that do"
                    )));
                }
            }
        }
        let listed = self.expiries.len(transaction)?;
        if listed != with_expiry {
            return Ok(Err(format!(
                "{listed} keys are in the list of those that end, and {with_expiry} end"
            )));
        }
        Ok(Ok(count))
    }

    /// Deletes the record of a key with that expiry.
    pub(crate) fn delete(
        &self,
        transaction: &mut RwTxn<'_>,
        key: &[u8],
        before: Option<u64>,
    ) -> Result<(), StoreFailure> {
        if let Some(before) = before {
            self.expiries.delete(transaction, &expiry_key(before, key))?;
        }
        self.records.delete(transaction, key)?;
        Ok(())
    }

    /// Makes a transaction one that has something to commit, and changes nothing.
    pub(crate) fn dirty(&self, transaction: &mut RwTxn<'_>) -> Result<(), StoreFailure> {
        // No expiry of a key is so short.
        self.expiries.put(transaction, b"-", &[])?;
        self.expiries.delete(transaction, b"-")?;
        Ok(())
    }

    pub(crate) fn clear(&self, transaction: &mut RwTxn<'_>) -> Result<(), StoreFailure> {
        self.records.clear(transaction)?;
        self.expiries.clear(transaction)?;
        Ok(())
    }

    /// The number of pages in use.
    pub(crate) fn pages(&self, transaction: &RoTxn<'_>) -> Result<u64, StoreFailure> {
        let mut pages = 0;
        for tree in [self.records, self.expiries] {
            let stat = tree.stat(transaction)?;
            pages += (stat.branch_pages + stat.leaf_pages + stat.overflow_pages) as u64;
        }
        Ok(pages)
    }

    /// Whether any key has expired.
    pub(crate) fn has_expired(
        &self,
        transaction: &RoTxn<'_>,
        now_ms: u64,
    ) -> Result<bool, StoreFailure> {
        let first = self.expiries.first(transaction)?;
        Ok(first.is_some_and(|(key, _)| {
            key.split_first_chunk().is_some_and(|(time, _)| u64::from_be_bytes(*time) <= now_ms)
        }))
    }

    /// Deletes expired keys, up to a maximum. Returns how many.
    pub(crate) fn delete_expired(
        &self,
        transaction: &mut RwTxn<'_>,
        now_ms: u64,
        most: usize,
    ) -> Result<usize, StoreFailure> {
        let mut over = Vec::new();
        for entry in self.expiries.iter(transaction)?.take(most) {
            let (key, _) = entry?;
            let (time, _) = key.split_first_chunk().ok_or_else(damaged)?;
            if now_ms < u64::from_be_bytes(*time) {
                break;
            }
            over.push(key.to_vec());
        }
        for key in &over {
            self.expiries.delete(transaction, key)?;
            self.records.delete(transaction, key.get(8..).ok_or_else(damaged)?)?;
        }
        Ok(over.len())
    }
}

fn expiry_key(time_ms: u64, key: &[u8]) -> Vec<u8> {
    [&time_ms.to_be_bytes()[..], key].concat()
}
