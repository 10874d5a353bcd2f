//! Opens the memory map, which the compiler cannot check.
//!
//! Owns the unsafe calls of heed; `writing` has the one of the kernel. Never reads or writes a key.

mod writing;

use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions, WithoutTls};

pub(crate) use self::writing::write_out;
use crate::limits::{DATABASES, MARGIN, OTHER_READERS, SIZE};

/// What is asked of the map.
#[derive(Clone, Copy)]
pub(crate) struct MapOptions {
    /// Bytes of address space.
    pub(crate) size: usize,
    /// Snapshots, of all programs, at the same time.
    pub(crate) readers: u32,
    /// B+ trees with a name.
    pub(crate) trees: u32,
    /// How a commit reaches the disk.
    pub(crate) flags: EnvFlags,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self {
            size: usize::try_from(SIZE + MARGIN).unwrap_or(usize::MAX),
            readers: OTHER_READERS as u32,
            // Two of each database, and that of the store itself.
            trees: 2 * DATABASES as u32 + 1,
            flags: EnvFlags::empty(),
        }
    }
}

/// Opens the map in that directory, which must exist, for this program alone: it has locked out all others, and reads only.
pub(crate) fn open_alone(
    directory: &Path,
    options: &MapOptions,
) -> Result<Env<WithoutTls>, heed::Error> {
    let flags = options.flags | EnvFlags::NO_LOCK | EnvFlags::READ_ONLY;
    open(directory, &MapOptions { flags, ..*options })
}

/// Opens the map in that directory, which must exist.
///
/// A place in the lock file is a snapshot's and not a thread's (`MDB_NOTLS`), so that a thread can have several.
#[expect(unsafe_code, reason = "LMDB maps a file, whose bytes the compiler takes for constant")]
pub(crate) fn open(directory: &Path, options: &MapOptions) -> Result<Env<WithoutTls>, heed::Error> {
    let mut builder = EnvOpenOptions::new().read_txn_without_tls();
    builder.map_size(options.size).max_readers(options.readers).max_dbs(options.trees);
    // SAFETY: of the flags that weaken LMDB's promises, two are ever passed. `MDB_NOSYNC` (`Sync`) concerns what a power failure
    // leaves, never what a running program sees. `MDB_NOLOCK` is passed by `open_alone`, whose caller holds the lock of the lock file, so that nobody
    // writes. `MDB_WRITEMAP` is not passed.
    unsafe { builder.flags(options.flags) };
    // SAFETY: the map is read-only for this program, and LMDB's locks keep other users of LMDB from overwriting pages that are read. A
    // program that writes to the file without LMDB is outside of what can be defended against, as for every memory map; the directory
    // is created for the server's user alone.
    unsafe { builder.open(directory) }
}
