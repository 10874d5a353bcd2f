//! Records that a store has and the history of its leader has not, in a file of their own.
//!
//! Owns the names, and the form of the file: each record behind its length, as in the files of the last records. If the
//! store does not have all of these records any more, its whole state is copied instead, as the file of a store.
//! Nothing reads either by itself: a person decides what becomes of the changes, and may have the records shown.

use std::path::{Path, PathBuf};

use heed::CompactionOption;

use super::history::History;
use super::place::StorePosition;
use super::record::CommitRecord;
use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::limits::ASIDE_PIECE;

/// The data that is set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The file with records, or with a copy of the store.
    pub path: PathBuf,
    /// The number of the first record that only this store has.
    pub first: u64,
    /// That of the last.
    pub last: u64,
}

/// Where what follows this number is set aside; `None` if nothing does. The name says of which history it is.
pub(crate) fn place_aside(history: &History, directory: &Path, shared: u64) -> Option<SetAside> {
    let StorePosition { number: last, hash, .. } = history.place()?.position;
    let path = directory.join(format!("aside-{}-{last}-{hash:016x}", shared + 1));
    (shared < last).then_some(SetAside { path, first: shared + 1, last })
}

/// Writes the records to a file, if the store has all of them. Returns whether it had.
pub(crate) fn set_aside(history: &History, aside: &mut SetAside) -> Result<bool, StoreFailure> {
    let SetAside { first, last, .. } = *aside;
    if history.kept().first().is_none_or(|kept| kept > first) {
        return Ok(false);
    }
    let path = aside.path.with_extension("records");
    let part = aside.path.with_extension("part");
    let mut out = Vec::new();
    let mut number = first - 1;
    let mut file = crate::file::open(&part)?;
    file.set_len(0)?;
    while number < last {
        let records = history.kept().after(number, ASIDE_PIECE)?.unwrap_or_default();
        if records.is_empty() {
            break;
        }
        number += records.len() as u64;
        for record in records {
            let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&record);
        }
        std::io::Write::write_all(&mut file, &out)?;
        out.clear();
    }
    file.sync_all()?;
    std::fs::rename(part, &path)?;
    aside.path = path;
    Ok(true)
}

/// Copies the whole store to a file.
pub(crate) fn copy_aside(map: &Env, aside: &mut SetAside) -> Result<(), StoreFailure> {
    let (part, path) = (aside.path.with_extension("part"), aside.path.with_extension("mdb"));
    // A program may have been killed while it copied, or after that.
    if !path.exists() {
        let _not_there = std::fs::remove_file(&part);
        map.copy_to_path(&part, CompactionOption::Enabled)?.sync_all()?;
        std::fs::rename(part, &path)?;
    }
    aside.path = path;
    Ok(())
}

/// The records of a file in which they were set aside.
#[derive(Debug)]
pub struct AsideRecords(Vec<u8>);

impl AsideRecords {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(path: &Path) -> Result<Self, StoreFailure> {
        Ok(Self(std::fs::read(path)?))
    }

    /// The records, in order.
    pub fn records(&self) -> impl Iterator<Item = Result<CommitRecord<'_>, StoreFailure>> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| next(&mut rest).ok_or_else(no_record))
        })
    }
}

/// The next record; the rest is empty if it is none.
fn next<'f>(rest: &mut &'f [u8]) -> Option<CommitRecord<'f>> {
    let (length, records) = std::mem::take(rest).split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (record, after) = records.split_at_checked(length)?;
    let record = CommitRecord::decode(record).ok()?;
    *rest = after;
    Some(record)
}

fn no_record() -> StoreFailure {
    let why = "it is no file of records, is damaged here, or is of another version";
    StoreFailure::Storage(why.to_owned())
}
