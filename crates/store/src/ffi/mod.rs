//! Opening the memory map: the one thing here that the compiler cannot check.
//!
//! Owns the unsafe calls of heed. Never reads or writes a key.

use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions, WithoutTls};

/// What is asked of the map.
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

/// Opens the map in that directory, which must exist.
///
/// A place in the lock file is a snapshot's and not a thread's (`MDB_NOTLS`), so that a thread can have several.
#[expect(unsafe_code, reason = "LMDB maps a file, whose bytes the compiler takes for constant")]
pub(crate) fn open(directory: &Path, options: &MapOptions) -> Result<Env<WithoutTls>, heed::Error> {
    let mut builder = EnvOpenOptions::new().read_txn_without_tls();
    builder.map_size(options.size).max_readers(options.readers).max_dbs(options.trees);
    // SAFETY: of the flags that weaken LMDB's promises, `MDB_NOSYNC` alone is ever passed (`Sync`): it concerns what a power failure
    // leaves, never what a running program sees. `MDB_NOLOCK` and `MDB_WRITEMAP` are not passed.
    unsafe { builder.flags(options.flags) };
    // SAFETY: the map is read-only for this program, and LMDB's locks keep other users of LMDB from overwriting pages that are read. A
    // program that writes to the file without LMDB is outside of what can be defended against, as for every memory map; the directory
    // is created for the server's user alone.
    unsafe { builder.open(directory) }
}
