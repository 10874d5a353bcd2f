//! The space in the store's file: its size, and whether it is used up.
//!
//! Owns the rule when a store is full. Makes no system call, because schedulers have no descriptor of the file.

use heed::{Env, RwTxn, WithoutTls};

use crate::failure::Failure;
use crate::table::Table;

/// The space of a file of this maximum size.
pub(crate) struct Room<'w> {
    pub(crate) map: &'w Env<WithoutTls>,
    pub(crate) tables: &'w [Table],
    pub(crate) size: u64,
}

impl Room<'_> {
    /// Whether the store is full. The file never shrinks, so once it has reached its size, the pages in use are counted.
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

/// The size of the file in bytes, up to the last page ever used.
pub(crate) fn file_size(map: &Env<WithoutTls>) -> u64 {
    (map.info().last_page_number as u64 + 1) * page_size(map)
}
