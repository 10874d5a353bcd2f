//! The room of the store's file: how large it is, and how much of it may still be used.
//!
//! Owns when there is no room for more. Never asks the kernel: schedulers have no descriptor of the file.

use heed::{Env, RwTxn, WithoutTls};

use crate::failure::Failure;
use crate::table::Table;

/// The room that the file has.
pub(crate) struct Room<'w> {
    pub(crate) map: &'w Env<WithoutTls>,
    pub(crate) tables: &'w [Table],
    pub(crate) size: u64,
}

impl Room<'_> {
    /// Whether there is none for more. The file does not shrink, so where it had its size once its pages that are used count.
    pub(crate) fn is_used_up(&self, transaction: &RwTxn<'_>) -> Result<bool, Failure> {
        if file_size(self.map) < self.size {
            return Ok(false);
        }
        let mut pages = 0;
        for table in self.tables {
            pages += table.pages(transaction)?;
        }
        Ok(pages * page_size(self.map) >= self.size / 16 * 15)
    }
}

fn page_size(map: &Env<WithoutTls>) -> u64 {
    u64::from(map.unnamed_database_stat().page_size)
}

/// Bytes of the file up to the last page that it has had.
pub(crate) fn file_size(map: &Env<WithoutTls>) -> u64 {
    (map.info().last_page_number as u64 + 1) * page_size(map)
}
