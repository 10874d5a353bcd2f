//! Opens the memory map, which the compiler cannot check.
//!
//! Owns the unsafe calls of heed; `writing` contains the one of the kernel. Never reads or writes a key.

mod alone;
mod writing;

use std::path::Path;

use heed::{EnvFlags, EnvOpenOptions, WithoutTls};

pub(crate) use self::alone::{Alone, LOCK};
pub(crate) use self::writing::write_out;
use crate::limits::{DATABASES, MARGIN, OTHER_READERS, SIZE};

/// The map; a snapshot of it may go to another thread.
pub(crate) type Env = heed::Env<WithoutTls>;

/// How commits reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commits {
    /// Each waits for the disk.
    Wait,
    /// They do not wait, and a power failure may leave a file that cannot be read (`MDB_NOSYNC`).
    GoOn,
}

/// The programs that may use a map.
enum Use {
    /// All programs, with LMDB's locks.
    Shared,
    /// This program, which holds the lock of all, and only reads.
    Alone,
}

#[derive(Clone, Copy)]
pub(crate) struct MapOptions {
    /// Bytes of address space.
    pub(crate) size: usize,
    /// Maximum number of snapshots of all programs.
    pub(crate) readers: u32,
    /// Maximum number of named B+ trees.
    pub(crate) trees: u32,
    /// How commits reach the disk.
    pub(crate) commits: Commits,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self {
            size: usize::try_from(SIZE + MARGIN).unwrap_or(usize::MAX),
            readers: OTHER_READERS as u32,
            // Two trees for each database, and one for the store.
            trees: 2 * DATABASES as u32 + 1,
            commits: Commits::Wait,
        }
    }
}

/// Opens the map of a store without LMDB's locks, only for reading, while no other program can use it.
pub(crate) fn open_alone(alone: &Alone, options: &MapOptions) -> Result<Env, heed::Error> {
    open_for(Use::Alone, alone.directory(), options)
}

/// Opens the map in an existing directory.
///
/// Snapshots do not belong to threads (`MDB_NOTLS`), so a thread can hold several.
pub(crate) fn open(directory: &Path, options: &MapOptions) -> Result<Env, heed::Error> {
    open_for(Use::Shared, directory, options)
}

#[expect(unsafe_code, reason = "LMDB maps a file, whose bytes the compiler takes for constant")]
fn open_for(who: Use, directory: &Path, options: &MapOptions) -> Result<Env, heed::Error> {
    let mut builder = EnvOpenOptions::new().read_txn_without_tls();
    builder.map_size(options.size).max_readers(options.readers).max_dbs(options.trees);
    let commits = match options.commits {
        Commits::Wait => EnvFlags::empty(),
        Commits::GoOn => EnvFlags::NO_SYNC,
    };
    let flags = match who {
        Use::Shared => commits,
        Use::Alone => commits | EnvFlags::NO_LOCK | EnvFlags::READ_ONLY,
    };
    // SAFETY: two flags that weaken LMDB's guarantees are passed. `MDB_NOSYNC` affects what a power failure leaves,
    // never what a running program sees. `MDB_NOLOCK` is passed by `open_alone` only, whose caller shows that it holds
    // the lock of the lock file, so no program writes. `MDB_WRITEMAP` is never passed.
    unsafe { builder.flags(flags) };
    // SAFETY: this program cannot write to the map, and LMDB's locks keep other LMDB programs from overwriting pages
    // that are read. No memory map is safe from programs that write to the file without LMDB; the directory is
    // therefore accessible to the server's user only.
    unsafe { builder.open(directory) }
}
