//! The journal of changes: what was written where, and the value before.
//!
//! Owns that nothing is changed that could not be reverted: an entry is on disk before its file is
//! written. An incomplete line was never acted upon.

#![expect(clippy::disallowed_types, reason = "a command has one descriptor table")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::changes::{Change, is_of_the_kernel};

/// A change that was begun, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub number: u64,
    /// For which check.
    pub check: String,
    /// The boot of the host: what was written is gone with it.
    pub boot: String,
    /// Which device the file belongs to; empty where it belongs to none.
    pub device: String,
    /// The file, and its values.
    pub change: Change,
    /// What the file read behind the write; `None` where that is not known.
    pub read_back: Option<String>,
    /// Whether it was put back, or given up.
    pub is_over: bool,
}

/// The journal in a directory.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// All entries, the oldest first.
    pub entries: Vec<Entry>,
    /// The last change that is to stay whatever comes.
    confirmed: u64,
    /// The lock of the one command that may change the host.
    _alone: Option<File>,
}

impl Journal {
    /// Reads the journal; one that is not there is empty.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join("journal");
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut journal = Self { path, entries: Vec::new(), confirmed: 0, _alone: None };
        for line in text.lines() {
            // A line that was cut off is none: nothing was done for it.
            if let Ok(value) = serde_json::from_str(line) {
                journal.take(&value);
            }
        }
        Ok(journal)
    }

    /// Reads the journal to change the host: nobody else does meanwhile.
    ///
    /// # Errors
    /// When it cannot be read; `WouldBlock` where another one changes the host.
    pub fn open_alone(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                "another velodrome tune changes this host now",
            ),
            TryLockError::Error(error) => error,
        })?;
        Ok(Self { _alone: Some(lock), ..Self::open(directory)? })
    }

    /// The number of the last change.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.number)
    }

    /// Whether all changes up to this one are to stay.
    #[must_use]
    pub fn is_confirmed(&self, number: u64) -> bool {
        self.confirmed >= number
    }

    /// All changes up to now are to stay.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn confirm(&mut self) -> io::Result<()> {
        self.append(&json!({ "event": "confirmed", "number": self.last() }))
    }

    fn take(&mut self, line: &Value) {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let Some(number) = line["number"].as_u64() else { return };
        match line["event"].as_str() {
            // A line for any other file is none of ours.
            Some("change") if is_of_the_kernel(&text("path")) => self.entries.push(Entry {
                number,
                check: text("check"),
                boot: text("boot"),
                device: text("device"),
                change: Change { path: text("path"), old: text("old"), new: text("new") },
                read_back: None,
                is_over: false,
            }),
            Some("written") => {
                if let Some(entry) = self.entry(number) {
                    entry.read_back = Some(text("read"));
                }
            }
            Some("over") => {
                if let Some(entry) = self.entry(number) {
                    entry.is_over = true;
                }
            }
            Some("confirmed") => self.confirmed = number,
            _ => {}
        }
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.number == number)
    }

    /// The changes that are not put back.
    pub fn standing(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.is_over)
    }

    /// A change is about to be written; gives its number.
    pub(crate) fn begin(
        &mut self,
        check: &str,
        boot: &str,
        device: &str,
        change: &Change,
    ) -> io::Result<u64> {
        let number = self.last() + 1;
        self.append(&json!({
            "event": "change", "number": number, "check": check, "boot": boot,
            "device": device, "path": change.path, "old": change.old, "new": change.new,
            "version": env!("CARGO_PKG_VERSION"),
        }))?;
        Ok(number)
    }

    /// It was written, and reads so.
    pub(crate) fn note_written(&mut self, number: u64, read: &str) -> io::Result<()> {
        self.append(&json!({ "event": "written", "number": number, "read": read }))
    }

    /// It was put back, or there is nothing to put back any more.
    pub(crate) fn note_over(&mut self, number: u64, why: &str) -> io::Result<()> {
        self.append(&json!({ "event": "over", "number": number, "why": why }))
    }

    /// A line, which is on the disk when this returns.
    fn append(&mut self, line: &Value) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        let before = fs::read(&self.path).unwrap_or_default();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        // What was cut off stays a line of its own.
        let begin = if before.last().is_some_and(|last| *last != b'\n') { "\n" } else { "" };
        file.write_all(format!("{begin}{line}\n").as_bytes())?;
        file.sync_all()?;
        if before.is_empty() {
            File::open(directory)?.sync_all()?;
        }
        self.take(line);
        Ok(())
    }
}
