//! The journal of changes: what was written where, and the value before.
//!
//! Owns that nothing is changed that cannot be reverted: an entry is on disk before its file is
//! written. An incomplete line was never acted upon.

#![expect(clippy::disallowed_types, reason = "a command has one descriptor table")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::changes::{FileChange, is_of_the_kernel};

/// A change that was begun, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its number, from 1.
    pub number: u64,
    /// The check that it fixes.
    pub check: String,
    /// The id of the host's boot: a reboot undoes what was written.
    pub boot: String,
    /// The device that the file belongs to; empty if there is none.
    pub device: String,
    /// The network namespace in which it was written; empty if the file has the same value in all of them.
    pub network: String,
    /// Whether the kernel has changed the file by itself, because of the change after it.
    pub is_effect: bool,
    /// The file, and its values.
    pub change: FileChange,
    /// The file's value after the write; `None` if it is not known.
    pub read_back: Option<String>,
    /// Whether it was reverted or given up.
    pub is_over: bool,
}

/// The data of a change besides the file and its values.
#[derive(Clone, Debug)]
pub(crate) struct Begun<'a> {
    pub(crate) check: &'a str,
    pub(crate) boot: &'a str,
    pub(crate) device: String,
    pub(crate) network: String,
    pub(crate) is_effect: bool,
}

/// The journal in a directory.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// All entries, oldest first.
    pub entries: Vec<JournalEntry>,
    /// The number of the last confirmed change.
    confirmed: u64,
    /// The lock that only one command that changes the host can hold.
    _alone: Option<File>,
}

impl Journal {
    /// Reads the journal; a missing one is empty.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join("journal");
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut journal = Self { path, entries: Vec::new(), confirmed: 0, _alone: None };
        for line in text.lines() {
            // A truncated line is ignored: nothing was done for it.
            if let Ok(value) = serde_json::from_str(line) {
                journal.take(&value);
            }
        }
        Ok(journal)
    }

    /// Reads the journal in order to change the host, and locks it.
    ///
    /// # Errors
    /// It cannot be read; `WouldBlock` if another command is changing the host.
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
    pub fn last(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.number)
    }

    /// Whether this change and all before it are confirmed.
    pub fn is_confirmed(&self, number: u64) -> bool {
        self.confirmed >= number
    }

    /// Confirms all changes up to now: they are not reverted by a timer.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn confirm(&mut self) -> io::Result<()> {
        self.append(&json!({ "event": "confirmed", "number": self.last() }))
    }

    fn take(&mut self, line: &Value) {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let Some(number) = line["number"].as_u64() else { return };
        match line["event"].as_str() {
            // A line for a file outside of the kernel's directories is ignored.
            Some("change") if is_of_the_kernel(&text("path")) => self.entries.push(JournalEntry {
                number,
                check: text("check"),
                boot: text("boot"),
                device: text("device"),
                network: text("network"),
                is_effect: line["effect"].as_bool().unwrap_or(false),
                change: FileChange { path: text("path"), old: text("old"), new: text("new") },
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

    fn entry(&mut self, number: u64) -> Option<&mut JournalEntry> {
        self.entries.iter_mut().find(|entry| entry.number == number)
    }

    /// The changes that are not reverted.
    pub fn standing(&self) -> impl DoubleEndedIterator<Item = &JournalEntry> {
        self.entries.iter().filter(|entry| !entry.is_over)
    }

    /// Records a change that is about to be written; returns its number.
    pub(crate) fn begin(&mut self, begun: &Begun<'_>, change: &FileChange) -> io::Result<u64> {
        let number = self.last() + 1;
        let Begun { check, boot, device, network, is_effect } = begun;
        self.append(&json!({
            "event": "change", "number": number, "check": check, "boot": boot,
            "device": device, "network": network, "effect": is_effect,
            "path": change.path, "old": change.old, "new": change.new,
            "version": env!("CARGO_PKG_VERSION"),
        }))?;
        Ok(number)
    }

    /// Records that a change was written, and what the file reads.
    pub(crate) fn note_written(&mut self, number: u64, read: &str) -> io::Result<()> {
        self.append(&json!({ "event": "written", "number": number, "read": read }))
    }

    /// Records that a change was reverted, or that there is nothing left to revert.
    pub(crate) fn note_over(&mut self, number: u64, why: &str) -> io::Result<()> {
        self.append(&json!({ "event": "over", "number": number, "why": why }))
    }

    /// Appends a line, which is on the disk when this returns.
    fn append(&mut self, line: &Value) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        let before = fs::read(&self.path).unwrap_or_default();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        // A truncated line before it stays a line of its own.
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
