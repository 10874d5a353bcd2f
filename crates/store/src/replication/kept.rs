//! The last records of a history, in two files that take turns.
//!
//! Owns which records are there: always the last ones without a gap, up to a bound. They are for nodes that have missed
//! some, and for what a leader had not sent when another one began. They are no part of what is durable: after a power
//! failure those that do not fit the store are dropped, and nodes that would need them take a snapshot.

#![expect(
    clippy::disallowed_types,
    reason = "the files stay in the table of the thread that opens the store"
)]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::place::StorePosition;
use super::record::CommitRecord;
use crate::failure::StoreFailure;
use crate::file::open;
use crate::limits::{KEPT_FILE, RECORD_MOST};

/// The names of the files.
const FILES: [&str; 2] = ["records.0", "records.1"];

/// Bytes of the length in front of each record.
const LENGTH: u64 = 4;

/// Where a record is.
#[derive(Clone, Copy, Debug)]
struct Kept {
    number: u64,
    before: u64,
    hash: u64,
    file: usize,
    at: u64,
    length: usize,
}

/// The last records of a store.
#[derive(Debug)]
pub(crate) struct KeptRecords {
    files: [File; 2],
    /// Oldest first, without a gap.
    kept: VecDeque<Kept>,
    /// The file to which the next one is appended, and where.
    current: usize,
    end: u64,
}

impl KeptRecords {
    /// Opens the files of a store that is at this position. Records that do not lead there are dropped.
    pub(crate) fn open(directory: &Path, position: &StorePosition) -> Result<Self, StoreFailure> {
        let files = [open(&directory.join(FILES[0]))?, open(&directory.join(FILES[1]))?];
        let mut found = Vec::new();
        for (number, file) in files.iter().enumerate() {
            read_file(number, file, &mut found)?;
        }
        found.sort_unstable_by_key(|kept| kept.number);
        let mut kept = VecDeque::new();
        let (mut number, mut hash) = (position.number, position.hash);
        for record in found.into_iter().rev() {
            if record.number == number && record.hash == hash {
                (number, hash) = (number.saturating_sub(1), record.before);
                kept.push_front(record);
            }
        }
        let mut opened = Self { files, kept, current: 0, end: 0 };
        match opened.kept.back() {
            None => opened.clear()?,
            Some(last) => {
                (opened.current, opened.end) = (last.file, last.at + last.length as u64);
                // The rest was not committed.
                opened.files[opened.current].set_len(opened.end)?;
            }
        }
        Ok(opened)
    }

    /// Appends a record. If there is no room for it, or a record between is missing, all others are dropped, because
    /// what is kept has no gap.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), StoreFailure> {
        let Ok(record) = CommitRecord::decode(bytes) else { return self.clear() };
        let is_next = self.kept.back().is_none_or(|last| last.hash == record.before);
        if !is_next || bytes.len() > RECORD_MOST {
            self.clear()?;
        }
        if bytes.len() <= RECORD_MOST && self.write(&record, bytes).is_err() {
            self.clear()?;
        }
        Ok(())
    }

    fn write(&mut self, record: &CommitRecord<'_>, bytes: &[u8]) -> io::Result<()> {
        if self.end >= KEPT_FILE {
            (self.current, self.end) = (1 - self.current, 0);
            let current = self.current;
            self.kept.retain(|kept| kept.file != current);
            self.files[current].set_len(0)?;
        }
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let file = &self.files[self.current];
        file.write_all_at(&length.to_le_bytes(), self.end)?;
        file.write_all_at(bytes, self.end + LENGTH)?;
        let CommitRecord { number, before, hash, .. } = *record;
        let (file, at) = (self.current, self.end + LENGTH);
        self.kept.push_back(Kept { number, before, hash, file, at, length: bytes.len() });
        self.end = at + bytes.len() as u64;
        Ok(())
    }

    /// Drops records after this number, because their transaction was not committed.
    pub(crate) fn take_back(&mut self, number: u64) -> Result<(), StoreFailure> {
        while let Some(last) = self.kept.pop_back_if(|kept| kept.number > number) {
            (self.current, self.end) = (last.file, last.at - LENGTH);
            self.files[self.current].set_len(self.end)?;
        }
        Ok(())
    }

    /// Drops all records.
    pub(crate) fn clear(&mut self) -> Result<(), StoreFailure> {
        self.kept.clear();
        (self.current, self.end) = (0, 0);
        for file in &self.files {
            file.set_len(0)?;
        }
        Ok(())
    }

    /// The number of the first record that is kept.
    pub(crate) fn first(&self) -> Option<u64> {
        self.kept.front().map(|kept| kept.number)
    }

    /// The hash after the record of this number, if it is known.
    pub(crate) fn hash_at(&self, number: u64) -> Option<u64> {
        let first = self.kept.front()?;
        if number + 1 == first.number {
            return Some(first.before);
        }
        let at = usize::try_from(number.checked_sub(first.number)?).ok()?;
        self.kept.get(at).map(|kept| kept.hash)
    }

    /// Records after this number, at most so many bytes, but at least one if there is one. `None` if the next one is
    /// not kept any more.
    pub(crate) fn after(&self, number: u64, bytes: usize) -> io::Result<Option<Vec<Arc<[u8]>>>> {
        let mut records = Vec::new();
        let Some(first) = self.kept.front() else { return Ok(None) };
        let Some(at) = (number + 1).checked_sub(first.number) else { return Ok(None) };
        let mut size = 0;
        for kept in self.kept.iter().skip(usize::try_from(at).unwrap_or(usize::MAX)) {
            size += kept.length;
            if size > bytes && !records.is_empty() {
                break;
            }
            let mut record = vec![0; kept.length];
            self.files[kept.file].read_exact_at(&mut record, kept.at)?;
            records.push(record.into());
        }
        Ok(Some(records))
    }
}

/// Reads the records of a file up to the first that is incomplete.
fn read_file(number: usize, mut file: &File, found: &mut Vec<Kept>) -> Result<(), StoreFailure> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let mut at = 0;
    while let Some((length, rest)) = bytes[at..].split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some(record) = rest.get(..length).and_then(|record| CommitRecord::decode(record).ok())
        else {
            break;
        };
        let start = at + LENGTH as usize;
        let CommitRecord { number: count, before, hash, .. } = record;
        found.push(Kept { number: count, before, hash, file: number, at: start as u64, length });
        at = start + length;
    }
    Ok(())
}
