//! Copies of a store without its free space.
//!
//! Owns that a copy is complete or does not exist: it is made in a separate directory and renamed
//! at the end.

#![expect(clippy::disallowed_types, reason = "files of a command, which has one descriptor table")]

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};

use heed::CompactionOption;

use crate::checkpoint::recover;
use crate::failure::StoreFailure;
use crate::ffi::{self, Alone, Env, LOCK, MapOptions};
use crate::file::DATA_FILE;
use crate::replication::Ledger;
use crate::versions::Versions;

/// Offset of the last transaction in LMDB's lock file.
const LAST_TRANSACTION: u64 = 8;

/// The fate of the role of a store that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopiedRole {
    /// The copy takes the place of the store.
    Kept,
    /// The store goes on, and two of them must not lead.
    Dropped,
}

/// A copy in a temporary directory, which is removed when this value is dropped.
struct Draft {
    directory: PathBuf,
}

impl Draft {
    /// Copies a store into a temporary directory below another one.
    fn of(
        map: &Env,
        (versions, role): (Versions, CopiedRole),
        below: &Path,
    ) -> Result<Self, StoreFailure> {
        let draft = Self { directory: below.join("copy.part") };
        // An earlier copy may have been killed before it was done.
        draft.remove();
        DirBuilder::new().recursive(true).mode(0o700).create(&draft.directory)?;
        // The last commit is read after the copy is made, so the copy has no later one.
        let copied =
            map.copy_to_path(draft.directory.join(DATA_FILE), CompactionOption::Enabled)?;
        drop(copied);
        let last = map.info().last_txn_id as u64;
        let of_copy = ffi::open(&draft.directory, &MapOptions::default())?;
        let ledger = Ledger::open(&of_copy)?;
        versions.of_copy(last).write(&of_copy, |transaction| match (role, ledger) {
            (CopiedRole::Dropped, Some(ledger)) => ledger.forget_role(transaction),
            _ => Ok(()),
        })?;
        of_copy.prepare_for_closing().wait();
        Ok(draft)
    }

    /// Moves the copy to its final directory. Returns its size in bytes.
    fn put(&self, directory: &Path) -> Result<u64, StoreFailure> {
        let (from, to) = (self.directory.join(DATA_FILE), directory.join(DATA_FILE));
        let file = File::open(&from)?;
        file.sync_all()?;
        fs::rename(from, to)?;
        File::open(directory)?.sync_all()?;
        Ok(file.metadata()?.len())
    }

    fn remove(&self) {
        for name in [DATA_FILE, LOCK] {
            let _not_there = fs::remove_file(self.directory.join(name));
        }
        let _not_there = fs::remove_dir(&self.directory);
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Copies the current state of an open store to another directory. Returns the size of the copy in bytes.
pub(crate) fn copy(map: &Env, versions: Versions, directory: &Path) -> Result<u64, StoreFailure> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let file = directory.join(DATA_FILE);
    if file.exists() {
        return Err(StoreFailure::Storage(format!("`{}` is there already", file.display())));
    }
    Draft::of(map, (versions, CopiedRole::Dropped), directory)?.put(directory)
}

/// Rewrites the file of a store that no program has open, without its free space. Returns the bytes before and after. A
/// program that opens the store meanwhile waits until the file is replaced.
///
/// # Errors
/// If there is no store, a program has it open, or the copy fails. The store is unchanged then.
pub fn compact(directory: &Path) -> Result<(u64, u64), StoreFailure> {
    let before = match fs::metadata(directory.join(DATA_FILE)) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = format!("there is no store in `{}`", directory.display());
            return Err(StoreFailure::Storage(text));
        }
        Err(error) => return Err(error.into()),
    };
    // After a power failure another program may be replaying the log: it holds the lock of the directory and waits for
    // LMDB's lock. `recover` takes the lock of the directory, so it must run before LMDB's lock is taken.
    recover(directory)?;
    let Some(alone) = Alone::of(directory)? else { return Err(StoreFailure::InUse) };
    recover(directory)?;
    let map = ffi::open_alone(&alone, &MapOptions::default())?;
    let versions = Versions::of(&map)?;
    let draft = Draft::of(&map, (versions, CopiedRole::Kept), directory)?;
    map.prepare_for_closing().wait();
    let after = draft.put(directory)?;
    // A program that waits for the lock trusts the number in the lock file.
    let copied = ffi::open_alone(&alone, &MapOptions::default())?;
    let last = copied.info().last_txn_id as u64;
    copied.prepare_for_closing().wait();
    if alone.file().metadata()?.len() > LAST_TRANSACTION {
        alone.file().write_all_at(&last.to_ne_bytes(), LAST_TRANSACTION)?;
    }
    Ok((before, after))
}
