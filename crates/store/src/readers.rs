//! The programs that read a store: the table of readers in its lock file.
//!
//! Owns the format of that table, which is LMDB's: two cache lines of 64 bytes, then one per
//! snapshot. Only reads.

#![expect(
    clippy::disallowed_types,
    reason = "the lock file stays in the table of the thread that opens the store"
)]

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A snapshot that a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reader {
    /// The commit that it shows.
    pub commit: u64,
    /// The program.
    pub process: u32,
}

impl Reader {
    /// What the program was started as, if that may be read.
    #[must_use]
    pub fn name(&self) -> String {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.process)).unwrap_or_default();
        let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let name = words.join(" ");
        let name: String =
            name.trim().chars().filter(|one| !one.is_control()).take(NAME_SIZE).collect();
        if name.is_empty() { "its name cannot be read".to_owned() } else { name }
    }
}

/// Characters of the name of a program.
const NAME_SIZE: usize = 80;

/// What LMDB writes at the begin of its lock file.
const MAGIC: u32 = 0xBEEF_C0DE;

/// Bytes before the first reader, and of each.
const HEAD: usize = 128;
const PLACE: usize = 64;

/// Where the head says how many places have been used so far.
const USED: usize = 16;

/// Readers that are looked at.
const MOST: usize = 100_000;

/// The open lock file.
///
/// It is never closed: that would take all locks of this program on the file, those of LMDB too (fcntl(2), "Advisory record locking"), and others
/// would take the store for one that nobody uses.
#[derive(Debug)]
pub(crate) struct LockFile(ManuallyDrop<File>);

impl LockFile {
    /// The lock file of an open store.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        File::open(directory.join("lock.mdb")).map(ManuallyDrop::new).map(Self)
    }

    /// The readers of all programs.
    pub(crate) fn readers(&self) -> io::Result<Vec<Reader>> {
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

/// A place: the commit, or all ones where the place is kept without a snapshot; the program, or 0 where it is free.
fn reader(place: &[u8]) -> Option<Reader> {
    let commit = u64::from_ne_bytes(place.first_chunk().copied()?);
    let process = word(place, 8);
    (process != 0 && commit != u64::MAX).then_some(Reader { commit, process })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_ne_bytes(*word))
}
