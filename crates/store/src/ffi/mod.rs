//! Opens the memory map, which the compiler cannot check.
//!
//! Owns the unsafe calls of heed; `writing` contains the one of the kernel. Never reads or writes a key.

mod writing;

use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions, WithoutTls};

pub(crate) use self::writing::write_out;
use crate::limits::{DATABASES, MARGIN, OTHER_READERS, SIZE};

/// Options of the map.
#[derive(Clone, Copy)]
pub(crate) struct MapOptions {
    /// Bytes of address space.
    pub(crate) size: usize,
    /// Maximum number of snapshots of all programs.
    pub(crate) readers: u32,
    /// Maximum number of named B+ trees.
    pub(crate) trees: u32,
    /// How commits reach the disk.
    pub(crate) flags: EnvFlags,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self {
            size: usize::try_from(SIZE + MARGIN).unwrap_or(usize::MAX),
            readers: OTHER_READERS as u32,
            // Two trees for each database, and one for the store.
            trees: 2 * DATABASES as u32 + 1,
            flags: EnvFlags::empty(),
        }
    }
}

/// Opens the map in an existing directory without locks: the caller has locked out all other programs, and only reads.
pub(crate) fn open_alone(
    directory: &Path,
    options: &MapOptions,
) -> Result<Env<WithoutTls>, heed::Error> {
    let flags = options.flags | EnvFlags::NO_LOCK | EnvFlags::READ_ONLY;
    open(directory, &MapOptions { flags, ..*options })
}

/// Opens the map in an existing directory.
///
/// Snapshots do not belong to threads (`MDB_NOTLS`), so a thread can hold several.
#[expect(unsafe_code, reason = "LMDB maps a file, whose bytes the compiler takes for constant")]
pub(crate) fn open(directory: &Path, options: &MapOptions) -> Result<Env<WithoutTls>, heed::Error> {
    let mut builder = EnvOpenOptions::new().read_txn_without_tls();
    builder.map_size(options.size).max_readers(options.readers).max_dbs(options.trees);
    // SAFETY: two flags that weaken LMDB's guarantees are passed. `MDB_NOSYNC` (`Sync`) affects what a power failure leaves,
    // never what a running program sees. `MDB_NOLOCK` is passed by `open_alone` only, whose caller holds the lock of the lock file, so no program
    // writes. `MDB_WRITEMAP` is never passed.
    unsafe { builder.flags(options.flags) };
    // SAFETY: this program cannot write to the map, and LMDB's locks keep other LMDB programs from overwriting pages that are read. No memory map is safe from
    // programs that write to the file without LMDB; the directory
    // is therefore accessible to the server's user only.
    unsafe { builder.open(directory) }
}
