//! A snapshot of a leader on its way into a replica: a file that is complete before anything of it is used.
//!
//! Owns the file, which a killed program leaves behind and the next one removes, so a snapshot is never half there.
//! Its pieces come in the order of databases and keys, and may show different commits. The records from the first piece
//! on follow them, so that all keys are at last as of the same commit.

#![expect(
    clippy::disallowed_types,
    reason = "the file stays in the table of the thread that opens the store"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::history::torn;
use crate::failure::StoreFailure;
use crate::file::open;
use crate::limits::RECORD_MOST;

/// The name of the file.
const FILE: &str = "snapshot.part";

const PIECE: u8 = b'p';
const RECORD: u8 = b'r';

/// A snapshot that is being received.
#[derive(Debug)]
pub struct SnapshotSpool {
    path: PathBuf,
    file: BufWriter<File>,
}

/// A part of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spooled {
    /// Changes that write records with increasing keys.
    Piece(Vec<u8>),
    /// A record of a commit.
    Record(Vec<u8>),
}

impl SnapshotSpool {
    /// An empty one, next to a store.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn begin(directory: &Path) -> Result<Self, StoreFailure> {
        let path = directory.join(FILE);
        let file = open(&path)?;
        file.set_len(0)?;
        Ok(Self { path, file: BufWriter::new(file) })
    }

    /// Removes what a killed program has left.
    pub(crate) fn clean(directory: &Path) {
        let _not_there = std::fs::remove_file(directory.join(FILE));
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn add_piece(&mut self, changes: &[u8]) -> Result<(), StoreFailure> {
        self.add(PIECE, changes)
    }

    /// Appends a record.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn add_record(&mut self, record: &[u8]) -> Result<(), StoreFailure> {
        self.add(RECORD, record)
    }

    fn add(&mut self, kind: u8, bytes: &[u8]) -> Result<(), StoreFailure> {
        let length = u32::try_from(bytes.len()).map_err(|_| StoreFailure::TooMuch)?;
        self.file.write_all(&[kind])?;
        self.file.write_all(&length.to_le_bytes())?;
        Ok(self.file.write_all(bytes)?)
    }

    /// Hands over all parts, first to last: pieces first, and then records.
    pub(crate) fn read<E: From<StoreFailure>>(
        &mut self,
        mut take: impl FnMut(Spooled) -> Result<(), E>,
    ) -> Result<(), E> {
        // Records may arrive between pieces.
        self.pass(PIECE, |bytes| take(Spooled::Piece(bytes)))?;
        self.pass(RECORD, |bytes| take(Spooled::Record(bytes)))
    }

    fn pass<E: From<StoreFailure>>(
        &mut self,
        wanted: u8,
        mut take: impl FnMut(Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.file.flush().map_err(StoreFailure::from)?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0)).map_err(StoreFailure::from)?;
        let mut reader = BufReader::new(file);
        while let Some(part) = next(&mut reader, wanted)? {
            if let Some(bytes) = part {
                take(bytes)?;
            }
        }
        Ok(())
    }
}

/// Reads the next part, or skips it if it is of another kind. `None` at the end.
fn next(
    reader: &mut BufReader<&mut File>,
    wanted: u8,
) -> Result<Option<Option<Vec<u8>>>, StoreFailure> {
    if reader.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut head = [0; 5];
    reader.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let length = u32::from_le_bytes(length);
    if length as usize > RECORD_MOST {
        return Err(torn());
    }
    if kind != wanted {
        reader.seek_relative(i64::from(length))?;
        return Ok(Some(None));
    }
    let mut bytes = vec![0; length as usize];
    reader.read_exact(&mut bytes)?;
    Ok(Some(Some(bytes)))
}

impl Drop for SnapshotSpool {
    fn drop(&mut self) {
        let _not_there = std::fs::remove_file(&self.path);
    }
}
