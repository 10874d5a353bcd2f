//! Pages of a scan: some keys in order, and where the next page begins.
//!
//! Owns the limits of a page. A scan is a sequence of pages; each may come from another snapshot.

use std::ops::Bound;

use heed::RoTxn;

use crate::failure::Failure;
use crate::limits::{PAGE_KEYS, PAGE_SIZE};
use crate::record::{Entry, Record};
use crate::table::Table;

/// Which page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageOf {
    /// What its keys begin with.
    pub prefix: Box<[u8]>,
    /// Its keys come behind this one; `None` for the first page.
    pub after: Option<Box<[u8]>>,
    /// Keys that are looked at, at most; and no more than [`PAGE_KEYS`].
    pub keys: usize,
    /// What is given of each key.
    pub with: With,
}

/// What a page has of each key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum With {
    /// The key alone.
    #[default]
    Keys,
    /// What is known of the value, without its bytes.
    Versions,
    /// The value as well.
    Values,
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its keys, with their values where they were asked for.
    pub keys: Vec<(Box<[u8]>, Option<Entry>)>,
    /// The key behind which the next page begins; `None` where there is none.
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
    ) -> Result<Page, Failure> {
        let most = self.keys.clamp(1, PAGE_KEYS);
        let begin: Bound<&[u8]> = match &self.after {
            Some(after) if **after >= *self.prefix => Bound::Excluded(after),
            // LMDB seeks no empty key.
            _ if self.prefix.is_empty() => Bound::Unbounded,
            _ => Bound::Included(&self.prefix),
        };
        let mut page = Page::default();
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
