//! Checkpoints: the states to which a store returns after a power failure if commits do not wait for
//! the disk.
//!
//! If a commit does not wait, the kernel writes pages in any order, and after a power failure the newest
//! tree in the file may lack pages. So one program at a time, the keeper, records a tree that is
//! completely on disk and holds a snapshot of it, because LMDB does not overwrite pages that a
//! snapshot can see. A program that opens the store after a reboot restores that tree. Owns which
//! program is the keeper, and when a checkpoint is valid. Never decides when to make one.
//!
//! There are three locks (flock(2)): on the directory while a program opens the store or removes a
//! checkpoint, on the file of records as long as the keeper lives, and on `data.mdb` while a
//! program writes (`write_lock`). A killed keeper leaves a checkpoint without a snapshot: the next
//! program that writes first syncs the file and removes the checkpoint.

#![expect(
    clippy::disallowed_types,
    reason = "the files stay in the table of the thread that opens the store"
)]

mod keeper;
mod pieces;
mod record;
#[cfg(test)]
mod tests;
mod write_lock;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use heed::RwTxn;
use rustix::fs::{FlockOperation, flock, fstatvfs};
use rustix::io::{Errno, retry_on_intr};

pub(crate) use self::keeper::Keeper;
pub use self::keeper::{Checkpoint, MadeCheckpoint};
use self::pieces::write_pieces;
use self::record::{BOOT, Meta, Record, Saved};
pub(crate) use self::write_lock::WriteLock;
use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::file::{DATA_FILE, open};
use crate::limits::FULL_DISK;
use crate::log::{clear, has_entries, replay};
use crate::readers::{LockFile, SnapshotReader};

/// The file of the records.
const RECORDS: &str = "checkpoint";

/// The kernel's boot id (random(4)).
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// Recorded instead of a boot id: return to the checkpoint even without a reboot.
const DISTRUSTED: [u8; BOOT] = [b'-'; BOOT];

/// Whether a program makes checkpoints, or wants to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It makes the checkpoints, if no other program does.
    Keeper,
    /// It makes none: its commits wait for the disk, or durability does not matter.
    Other,
}

/// The checkpoints of an open store.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    /// Locked while a program opens the store or removes a checkpoint.
    directory: File,
    /// Locked by the keeper.
    records: File,
    /// Locked while a program writes.
    data: Arc<File>,
    /// The snapshots of all programs; `None` before the map is opened.
    lock_file: Option<Arc<LockFile>>,
    /// The boot id, if this program is the keeper.
    boot: Option<[u8; BOOT]>,
    /// Held while a checkpoint is written, so that a later one is recorded later.
    saving: Mutex<()>,
    /// Whether the writer waits for the running checkpoint.
    is_urgent: AtomicBool,
    /// Whether the writer is waiting for another program that writes.
    waits_for_another_program: AtomicBool,
}

impl Checkpoints {
    /// Called before the map is opened: restores the store after a power failure. Creates missing files.
    pub(crate) fn open(directory: &Path, role: Role) -> Result<Self, StoreFailure> {
        let (own, records) = (File::open(directory)?, open(&directory.join(RECORDS))?);
        let data = Arc::new(open(&directory.join(DATA_FILE))?);
        let mut opened = Self {
            directory: own,
            records,
            data,
            lock_file: None,
            boot: None,
            saving: Mutex::new(()),
            is_urgent: AtomicBool::new(false),
            waits_for_another_program: AtomicBool::new(false),
        };
        opened.boot = opened.alone(|opened| {
            opened.check_for_loss(directory)?;
            if !opened.takes_keepers_lock()? {
                return Ok(None);
            }
            if let Some(transaction) = opened.restore(directory)? {
                opened.fill()?;
                replay(directory, transaction)?;
                opened.write_end()?;
            }
            opened.end()?;
            opened.fill()?;
            // There is no checkpoint any more that the log could continue.
            clear(directory)?;
            if role == Role::Other {
                unlock(&opened.records)?;
                return Ok(None);
            }
            Record::reserve(&opened.records);
            opened.directory.sync_all()?;
            start_of_kernel().map(Some)
        })?;
        Ok(opened)
    }

    /// Called after the map is opened: until then `compact` may have replaced the file.
    pub(crate) fn follow(
        mut self,
        directory: &Path,
        lock_file: &Arc<LockFile>,
    ) -> Result<Self, StoreFailure> {
        self.data = Arc::new(open(&directory.join(DATA_FILE))?);
        self.lock_file = Some(Arc::clone(lock_file));
        Ok(self)
    }

    /// The role of this program.
    pub(crate) fn role(&self) -> Role {
        if self.boot.is_some() { Role::Keeper } else { Role::Other }
    }

    /// Whether the writer of this program is waiting for another program that writes.
    pub(crate) fn waits_for_another_program(&self) -> bool {
        self.waits_for_another_program.load(Ordering::Relaxed)
    }

    /// Begins a write transaction. Other programs wait until the lock is dropped.
    pub(crate) fn begin<'m>(&self, map: &'m Env) -> Result<(WriteLock, RwTxn<'m>), StoreFailure> {
        let lock = WriteLock::take(&self.data, &self.waits_for_another_program)?;
        let transaction = map.write_txn()?;
        // If the previous writer was killed, LMDB has just freed the snapshots of its program.
        self.settle()?;
        Ok((lock, transaction))
    }

    /// Called before pages are written or snapshots are freed: removes the checkpoint of a killed keeper. Returns
    /// whether another program, which is alive, has a checkpoint.
    pub(crate) fn settle(&self) -> Result<bool, StoreFailure> {
        if self.boot.is_some() || Record::newest(&self.records)?.saved.is_none() {
            return Ok(false);
        }
        self.alone(|own| {
            let has_lock = own.takes_keepers_lock()?;
            // The kernel ends a process step by step: the snapshots may be free while the lock is still held.
            if !has_lock && !own.is_without_snapshot()? {
                return Ok(true);
            }
            let ended = own.end();
            if has_lock {
                unlock(&own.records)?;
            }
            ended.map(|()| false)
        })
    }

    /// Whether there is a checkpoint without a snapshot that protects its pages.
    fn is_without_snapshot(&self) -> Result<bool, StoreFailure> {
        let Some(lock_file) = &self.lock_file else { return Ok(false) };
        let saved = || Record::newest(&self.records).map(|record| record.saved);
        let mut checkpoint = saved()?;
        while let Some(Saved { meta, .. }) = &checkpoint {
            let is_its = |reader: &SnapshotReader| reader.commit == meta.transaction();
            if lock_file.readers()?.iter().any(is_its) {
                return Ok(false);
            }
            // A live keeper records its next checkpoint before it frees the snapshot of this one.
            let next = saved()?;
            if next == checkpoint {
                return Ok(true);
            }
            checkpoint = next;
        }
        Ok(false)
    }

    /// Runs a function under the lock of the directory.
    fn alone<T>(
        &self,
        what: impl FnOnce(&Self) -> Result<T, StoreFailure>,
    ) -> Result<T, StoreFailure> {
        let lock = || flock(&self.directory, FlockOperation::LockExclusive);
        retry_on_intr(lock).map_err(io::Error::from)?;
        let done = what(self);
        unlock(&self.directory)?;
        done
    }

    /// Tries to take the keeper's lock. Returns whether it succeeded.
    fn takes_keepers_lock(&self) -> Result<bool, StoreFailure> {
        match flock(&self.records, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Why a commit failed. LMDB reports a short write as `EIO`, so the free space tells whether the disk is full.
    pub(crate) fn why_not_written(&self, error: heed::Error) -> StoreFailure {
        let is_short = |error: &io::Error| error.raw_os_error() == Some(Errno::IO.raw_os_error());
        let is_full =
            || fstatvfs(&self.data).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < FULL_DISK);
        match &error {
            heed::Error::Io(failed) if is_short(failed) && is_full() => StoreFailure::DiskFull,
            _ => error.into(),
        }
    }

    /// Refuses to begin a new store in place of one whose file is gone.
    fn check_for_loss(&self, directory: &Path) -> Result<(), StoreFailure> {
        let has_history = Record::newest(&self.records)?.number > 0 || has_entries(directory)?;
        if has_history && Meta::of(&self.data)? == [None, None] {
            let directory = directory.display();
            return Err(StoreFailure::Storage(format!(
                "`{DATA_FILE}` in `{directory}` is missing or empty, and `{RECORDS}` or a log beside it is \
                 of the store that was there: restore a backup, or delete them to begin a new store"
            )));
        }
        Ok(())
    }

    /// Returns to the checkpoint if the machine has booted since. Returns its transaction. The record stays, so that a
    /// second power failure can do this again.
    fn restore(&self, directory: &Path) -> Result<Option<u64>, StoreFailure> {
        let Some(saved) = Record::newest(&self.records)?.saved else { return Ok(None) };
        if saved.boot == start_of_kernel()? {
            return Ok(None);
        }
        let metas = Meta::of(&self.data)?.into_iter().flatten();
        let newest = metas.map(|meta| meta.transaction()).max();
        if newest.is_none_or(|newest| newest < saved.meta.transaction()) {
            // The file was replaced, for example by a backup.
            self.write_end()?;
            return Ok(None);
        }
        if self.data.metadata()?.ino() != saved.inode {
            let directory = directory.display();
            return Err(StoreFailure::Storage(format!(
                "the file `{RECORDS}` in `{directory}` is of another file than `{DATA_FILE}`, which was \
                 copied while it was open or when its power failed: open the store where it was, or take a \
                 backup; delete `{RECORDS}` if you know that `{DATA_FILE}` is whole"
            )));
        }
        saved.meta.restore(&self.data)?;
        Ok(Some(saved.meta.transaction()))
    }

    /// Extends the file to the last page of its tree. After a power failure its end may be missing, and reading a
    /// mapped page beyond the end of the file kills the process (SIGBUS, mmap(2)). LMDB reports empty pages as damaged
    /// instead.
    fn fill(&self) -> Result<(), StoreFailure> {
        let metas = Meta::of(&self.data)?.into_iter().flatten();
        let Some(newest) = metas.max_by_key(Meta::transaction) else { return Ok(()) };
        if self.data.metadata()?.len() < newest.size() {
            self.data.set_len(newest.size())?;
        }
        Ok(())
    }

    /// Removes the checkpoint: syncs the file, which is complete without it then.
    fn end(&self) -> Result<(), StoreFailure> {
        match Record::newest(&self.records)?.saved {
            None => Ok(()),
            Some(saved) if saved.boot == DISTRUSTED => Err(StoreFailure::Storage(
                "its disk failed: end all programs that have it open, and start them again"
                    .to_owned(),
            )),
            Some(_) => {
                self.data.sync_data()?;
                self.write_end()
            }
        }
    }

    fn write_end(&self) -> Result<(), StoreFailure> {
        let number = Record::newest(&self.records)?.number + 1;
        Ok(Record { number, saved: None }.write(&self.records)?)
    }

    /// Marks the checkpoint after a disk failure: the kernel may show later data that the disk does not have, so the
    /// next program that opens the store returns to it.
    fn distrust(&self) -> Result<(), StoreFailure> {
        let Record { number, saved } = Record::newest(&self.records)?;
        let Some(saved) = saved else { return Ok(()) };
        let saved = Some(Saved { boot: DISTRUSTED, ..saved });
        Ok(Record { number: number + 1, saved }.write(&self.records)?)
    }

    /// Writes a tree to disk and records it as the checkpoint, unless a later one is recorded.
    fn save(&self, meta: Meta) -> Result<(), StoreFailure> {
        let Some(boot) = self.boot else { return Ok(()) };
        let _one_at_a_time = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = Record::newest(&self.records)?.saved;
        if recorded.is_some_and(|saved| saved.meta.transaction() > meta.transaction()) {
            return Ok(());
        }
        write_pieces(&self.data, &self.is_urgent)?;
        self.data.sync_data()?;
        let saved = Saved { boot, inode: self.data.metadata()?.ino(), meta };
        let number = Record::newest(&self.records)?.number + 1;
        Ok(Record { number, saved: Some(saved) }.write(&self.records)?)
    }
}

/// Restores a store after a power failure, before a program opens it exclusively.
pub(crate) fn recover(directory: &Path) -> Result<(), StoreFailure> {
    Checkpoints::open(directory, Role::Other).map(drop)
}

fn start_of_kernel() -> Result<[u8; BOOT], StoreFailure> {
    let text = std::fs::read(BOOT_FILE).unwrap_or_default();
    let number = text.first_chunk().copied();
    number.ok_or_else(|| {
        StoreFailure::Storage(format!(
            "`{BOOT_FILE}` does not say when the kernel started, \
        which checkpoints need: use `sync = \"commit\"`"
        ))
    })
}

fn unlock(file: impl AsFd) -> Result<(), StoreFailure> {
    Ok(flock(file, FlockOperation::Unlock).map_err(io::Error::from)?)
}
