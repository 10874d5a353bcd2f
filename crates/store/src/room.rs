//! The space in the store's file: its size, and whether it is used up.
//!
//! Owns the rule when a store is full: what a transaction writes must fit beside everything that the last commit
//! uses, because LMDB reuses no page that the same transaction frees. Makes no system call, because schedulers have no
//! descriptor of the file.

use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::table::Table;

/// The space for one transaction in a file of a maximum size.
pub(crate) struct Room<'w> {
    map: &'w Env,
    tables: &'w [Table],
    size: u64,
    /// Bytes that the transaction has written.
    written: u64,
    /// Bytes in use when the transaction began, if they had to be counted.
    used: Option<u64>,
}

/// Whether a write has space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It has.
    Now,
    /// It would have if the transaction had not written so much.
    Alone,
    /// It has not, until something is deleted.
    Never,
    /// It has not even in an empty store.
    Impossible,
}

impl<'w> Room<'w> {
    /// For a transaction that begins.
    pub(crate) fn new(map: &'w Env, tables: &'w [Table], size: u64) -> Self {
        Self { map, tables, size, written: 0, used: None }
    }

    /// Whether so many more bytes fit. The file never shrinks, so once it would grow beyond its size, the pages in use
    /// are counted.
    pub(crate) fn fit(&mut self, bytes: u64) -> Result<Fit, StoreFailure> {
        let most = self.size / 16 * 15;
        if bytes >= most {
            return Ok(Fit::Impossible);
        }
        if file_size(self.map).saturating_add(self.written).saturating_add(bytes) <= self.size {
            return Ok(Fit::Now);
        }
        let used = match self.used {
            Some(used) => used,
            None => *self.used.insert(self.count_used()?),
        };
        Ok(match used.saturating_add(bytes) {
            alone if alone >= most => Fit::Never,
            alone if alone.saturating_add(self.written) >= most => Fit::Alone,
            _ => Fit::Now,
        })
    }

    /// Takes space for a write.
    ///
    /// # Errors
    /// If there is not enough.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), StoreFailure> {
        if bytes == 0 {
            return Ok(());
        }
        match self.fit(bytes)? {
            Fit::Now => {
                self.written = self.written.saturating_add(bytes);
                Ok(())
            }
            Fit::Alone | Fit::Never => Err(StoreFailure::Full),
            Fit::Impossible => Err(StoreFailure::LargerThanStore),
        }
    }

    /// Bytes of the pages in use, as of the last commit.
    fn count_used(&self) -> Result<u64, StoreFailure> {
        let snapshot = self.map.read_txn()?;
        let mut pages = 0;
        for table in self.tables {
            pages += table.pages(&snapshot)?;
        }
        Ok(pages * page_size(self.map))
    }
}

fn page_size(map: &Env) -> u64 {
    u64::from(map.unnamed_database_stat().page_size)
}

/// The size of the file in bytes, up to the last page ever used.
pub(crate) fn file_size(map: &Env) -> u64 {
    (map.info().last_page_number as u64 + 1) * page_size(map)
}
