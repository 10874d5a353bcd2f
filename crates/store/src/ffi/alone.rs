//! The lock that keeps all other programs out of a store.
//!
//! Owns the proof that it is held. Never opens the map.

#![expect(clippy::disallowed_types, reason = "files of a command, which has one descriptor table")]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

/// The file that LMDB locks.
pub(crate) const LOCK: &str = "lock.mdb";

/// The whole lock file of a directory is locked. LMDB holds a lock of the same kind as long as a program has the store
/// open.
///
/// The kernel releases the lock when this process closes any descriptor of the file, so nothing else may open it
/// meanwhile.
pub(crate) struct Alone {
    file: File,
    directory: PathBuf,
}

impl Alone {
    /// Locks out all other programs. `None` if one has the store open.
    pub(crate) fn of(directory: &Path) -> io::Result<Option<Self>> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(directory.join(LOCK))?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { file, directory: directory.to_owned() })),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The locked file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The directory of the store.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}
