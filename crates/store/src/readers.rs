//! The snapshots of all programs, from the table of readers in LMDB's lock file.
//!
//! Owns the format of that table: two cache lines of 64 bytes, then one per
//! snapshot. Never writes.

#![expect(
    clippy::disallowed_types,
    reason = "the lock file stays in the table of the thread that opens the store"
)]

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A snapshot of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotReader {
    /// The commit that the snapshot shows.
    pub commit: u64,
    /// The process id of the program.
    pub process: u32,
}

impl SnapshotReader {
    /// The command line of the program, if it can be read.
    pub fn name(&self) -> String {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.process)).unwrap_or_default();
        let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let name = words.join(" ");
        let name: String =
            name.trim().chars().filter(|one| !one.is_control()).take(NAME_SIZE).collect();
        if name.is_empty() { "its name cannot be read".to_owned() } else { name }
    }
}

/// Maximum characters of a program's name.
const NAME_SIZE: usize = 80;

/// The magic number at the start of LMDB's lock file.
const MAGIC: u32 = 0xBEEF_C0DE;

/// Bytes of the header, and of each reader.
const HEAD: usize = 128;
const PLACE: usize = 64;

/// Offset of the number of places in use.
const USED: usize = 16;

/// Maximum number of readers that are read.
const MOST: usize = 100_000;

/// The open lock file.
///
/// It is never closed: closing any descriptor of a file drops all fcntl locks of the process on it (fcntl(2), "Advisory
/// record locking"), LMDB's among them, and other programs would conclude that nobody uses the store.
#[derive(Debug)]
pub(crate) struct LockFile(ManuallyDrop<File>);

impl LockFile {
    /// Opens the lock file of an open store.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        File::open(directory.join("lock.mdb")).map(ManuallyDrop::new).map(Self)
    }

    /// The snapshots of all programs.
    pub(crate) fn readers(&self) -> io::Result<Vec<SnapshotReader>> {
        let mut head = [0; HEAD];
        self.0.read_exact_at(&mut head, 0)?;
        if word(&head, 0) != MAGIC {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is not a lock file of LMDB",
            ));
        }
        let places = usize::try_from(word(&head, USED)).unwrap_or(0).min(MOST);
        let mut table = vec![0; places * PLACE];
        self.0.read_exact_at(&mut table, HEAD as u64)?;
        Ok(table.chunks_exact(PLACE).filter_map(reader).collect())
    }
}

/// Parses a place: the commit, or all ones if the place has no snapshot; then the process, or 0 if the place is free.
fn reader(place: &[u8]) -> Option<SnapshotReader> {
    let commit = u64::from_ne_bytes(place.first_chunk().copied()?);
    let process = word(place, 8);
    (process != 0 && commit != u64::MAX).then_some(SnapshotReader { commit, process })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_ne_bytes(*word))
}
