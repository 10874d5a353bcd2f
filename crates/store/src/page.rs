//! Pages of a scan: consecutive keys, and where the next page begins.
//!
//! Owns the limits of a page. A scan is a sequence of pages; each may read a different snapshot.

use std::ops::Bound;

use heed::RoTxn;

use crate::failure::StoreFailure;
use crate::limits::{PAGE_KEYS, PAGE_SIZE};
use crate::record::{Record, StoredEntry};
use crate::table::Table;

/// A request for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageOf {
    /// The prefix of the keys.
    pub prefix: Box<[u8]>,
    /// The page begins behind this key; `None` for the first page.
    pub after: Option<Box<[u8]>>,
    /// Maximum number of keys to examine, at most [`PAGE_KEYS`].
    pub keys: usize,
    /// The data to return for each key.
    pub with: With,
}

/// The data that a page contains for each key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum With {
    /// The key only.
    #[default]
    Keys,
    /// The key and the metadata of the value.
    Versions,
    /// The key and the value.
    Values,
}

/// A page of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanPage {
    /// The keys, with values if requested.
    pub keys: Vec<(Box<[u8]>, Option<StoredEntry>)>,
    /// The last key, behind which the next page begins; `None` at the end.
    pub next: Option<Box<[u8]>>,
}

impl PageOf {
    pub(crate) fn size(&self) -> usize {
        self.prefix.len() + self.after.as_ref().map_or(0, |key| key.len())
    }

    pub(crate) fn answer(
        &self,
        table: &Table,
        transaction: &RoTxn<'_>,
        now_ms: u64,
    ) -> Result<ScanPage, StoreFailure> {
        let most = self.keys.clamp(1, PAGE_KEYS);
        let begin: Bound<&[u8]> = match &self.after {
            Some(after) if **after >= *self.prefix => Bound::Excluded(after),
            // LMDB cannot search for an empty key.
            _ if self.prefix.is_empty() => Bound::Unbounded,
            _ => Bound::Included(&self.prefix),
        };
        let mut page = ScanPage::default();
        let (mut looked_at, mut size) = (0, 0);
        for found in table.range(transaction, begin)? {
            let (key, record) = found?;
            if !key.starts_with(&self.prefix) {
                break;
            }
            if looked_at == most || size >= PAGE_SIZE {
                return Ok(page);
            }
            looked_at += 1;
            page.next = Some(key.into());
            if !record.is_there(now_ms) {
                continue;
            }
            let entry = match self.with {
                With::Keys => None,
                With::Versions => Some(Record { bytes: &[], ..record }.to_entry()),
                With::Values => Some(record.to_entry()),
            };
            size += key.len() + entry.as_ref().map_or(0, |entry| entry.bytes.len());
            page.keys.push((key.into(), entry));
        }
        page.next = None;
        Ok(page)
    }
}
