//! The log: changes that are on disk before the tree has them (`sync = "log"`).
//!
//! A commit of the tree writes a page for almost every changed key. A log entry contains
//! only the changed records, one after the other, so the wait for the disk is short. The tree is
//! then committed without a wait, and checkpoints (`checkpoint`) write it to disk later. After a
//! power failure the store returns to its checkpoint and replays the log from there. Owns the two
//! files of the log and the order in which they are used. Never decides when to make a checkpoint.
//!
//! Two files alternate, because only the entries before a completed checkpoint may be dropped: when a checkpoint
//! starts, the log continues in the other file, provided that the previous checkpoint is complete. Files are
//! overwritten instead of truncated: if length and blocks stay the same, fdatasync writes the
//! entry only, and does not wait for the file system's journal, which a checkpoint fills at the same time.
//! Older entries that are still in the file do not follow the new ones, so the replay ignores them.

#![expect(
    clippy::disallowed_types,
    reason = "the files stay in the table of the thread that opens the store"
)]

mod entry;
mod replay;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::entry::HEAD;
pub(crate) use self::entry::{Entry, Logged, changes};
pub(crate) use self::replay::{repeat, replay};
use crate::failure::StoreFailure;
use crate::file::open;
use crate::limits::{LOG_PIECE, LOG_SIZE};

/// The names of the files.
const FILES: [&str; 2] = ["log.0", "log.1"];

/// The files of the keeper's log.
#[derive(Debug)]
pub(crate) struct LogFiles {
    files: [File; 2],
    /// Whether a writer uses them.
    are_written: AtomicBool,
}

impl LogFiles {
    /// Opens the files; creates missing ones.
    pub(crate) fn open(directory: &Path) -> Result<Self, StoreFailure> {
        let files = [open(&directory.join(FILES[0]))?, open(&directory.join(FILES[1]))?];
        // Otherwise a power failure could lose the new files with their contents.
        File::open(directory)?.sync_all()?;
        Ok(Self { files, are_written: AtomicBool::new(false) })
    }

    /// Drops all entries and waits for the disk.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for file in &self.files {
            if file.metadata()?.len() > 0 {
                file.set_len(0)?;
                file.sync_all()?;
            }
        }
        Ok(())
    }
}

/// Whether there is a log that is not empty.
pub(crate) fn has_entries(directory: &Path) -> Result<bool, StoreFailure> {
    for name in FILES {
        match std::fs::metadata(directory.join(name)) {
            Ok(found) if found.len() > 0 => return Ok(true),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(false)
}

/// Drops all entries of a store that may have no log.
pub(crate) fn clear(directory: &Path) -> Result<(), StoreFailure> {
    let are_there = FILES.iter().any(|name| directory.join(name).exists());
    if are_there { Ok(LogFiles::open(directory)?.clear()?) } else { Ok(()) }
}

/// The log of a writer.
#[derive(Debug)]
pub(crate) struct Log {
    files: Arc<LogFiles>,
    /// The index of the current file.
    current: usize,
    /// Bytes of the entries in the current file.
    size: u64,
    /// Size of each file in bytes.
    room: [u64; 2],
    /// The commit of the last complete checkpoint, which needs no entry up to it.
    kept: u64,
    /// The transaction of the last entry of the other file.
    last_of_other: u64,
    /// Whether an entry whose commit failed may still follow the last one, because the disk did not let it be removed.
    has_leftover: bool,
    /// The transaction of the last entry.
    last: u64,
    /// `size` and `last` without the last entry.
    before: (u64, u64),
}

impl Log {
    /// An empty log in these files. Their entries are older than the checkpoint that the writer makes first.
    pub(crate) fn new(files: Arc<LogFiles>) -> Self {
        let are_written = files.are_written.swap(true, Ordering::Relaxed);
        assert!(!are_written, "with a log, a store has one writer at a time");
        let (room, before) = ([0, 0], (0, 0));
        Self {
            files,
            current: 0,
            size: 0,
            room,
            kept: 0,
            last_of_other: 0,
            has_leftover: false,
            last: 0,
            before,
        }
    }

    /// Writes an entry and waits for the disk. Removes it if that fails.
    pub(crate) fn append(
        &mut self,
        entry: &mut Entry,
        transaction: u64,
    ) -> Result<(), StoreFailure> {
        let bytes = entry.bytes(transaction, self.last);
        let length = bytes.len() as u64;
        let grown = self.grow(self.current, self.size + length);
        let has_room = grown.or_else(|error| self.use_old_room(length).ok_or(error));
        self.before = (self.size, self.last);
        let file = &self.files.files[self.current];
        let written = has_room
            .and_then(|()| file.write_all_at(bytes, self.size))
            .and_then(|()| file.sync_data());
        if let Err(error) = written {
            self.take_back()?;
            return Err(error.into());
        }
        (self.size, self.last, self.has_leftover) = (self.size + length, transaction, false);
        Ok(())
    }

    /// Extends a file at least to `end`, and a little more, so that most entries do not have to.
    fn grow(&mut self, file: usize, end: u64) -> io::Result<()> {
        while self.room[file] < end {
            self.files.files[file].write_all_at(&[0; LOG_PIECE], self.room[file])?;
            self.room[file] += LOG_PIECE as u64;
        }
        Ok(())
    }

    /// On a full disk: continues at the beginning of a file whose entries are old, if it is long enough. `None` if
    /// there is none.
    fn use_old_room(&mut self, length: u64) -> Option<()> {
        let other = 1 - self.current;
        if self.has_leftover {
            return None;
        }
        if self.other_is_old() && self.room[other] >= length {
            self.change_files();
        } else if self.last <= self.kept && self.room[self.current] >= length {
            self.size = 0;
        } else {
            return None;
        }
        Some(())
    }

    /// Whether no entry of the other file is needed any more.
    fn other_is_old(&self) -> bool {
        self.last_of_other <= self.kept
    }

    fn change_files(&mut self) {
        // An empty file needs no checkpoint.
        self.last_of_other = if self.size > 0 { self.last } else { 0 };
        (self.current, self.size) = (1 - self.current, 0);
    }

    /// Removes the last entry, whose transaction was not committed.
    pub(crate) fn take_back(&mut self) -> Result<(), StoreFailure> {
        (self.size, self.last, self.has_leftover) = (self.before.0, self.before.1, true);
        let file = &self.files.files[self.current];
        if self.size < self.room[self.current] {
            file.write_all_at(&[0; HEAD], self.size)?;
        }
        file.sync_data()?;
        self.has_leftover = false;
        Ok(())
    }

    /// A checkpoint of all current entries starts: switches files. Stays in the file while an entry that could not be
    /// removed follows the last one, because the replay would continue with that entry, and then ignore the other file.
    /// Stays there, too, while the disk has no room for the other file.
    pub(crate) fn turn(&mut self) {
        if self.other_is_old()
            && self.size > 0
            && !self.has_leftover
            && self.grow(1 - self.current, LOG_PIECE as u64).is_ok()
        {
            self.change_files();
        }
    }

    /// The checkpoint of this commit is complete. If it was begun before the files were switched, the other file is
    /// still needed.
    pub(crate) fn keep_up(&mut self, commit: u64) {
        self.kept = self.kept.max(commit);
    }

    /// Whether the log is so long that a checkpoint should start.
    pub(crate) fn is_long(&self) -> bool {
        self.size >= LOG_SIZE
    }

    /// Drops all entries: the tree is completely on disk.
    pub(crate) fn clear(&mut self) -> Result<(), StoreFailure> {
        self.files.clear()?;
        (self.size, self.last, self.room, self.has_leftover) = (0, 0, [0, 0], false);
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.files.are_written.store(false, Ordering::Relaxed);
    }
}
