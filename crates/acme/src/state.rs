//! The state kept between two starts: records that are whole or not there, and the lock that lets one server order.
//!
//! Owns the names of records and their bounds. Knows nothing of their content. Only the server with the lock writes.
#![expect(
    clippy::disallowed_types,
    reason = "the file of the lock is opened and closed on the control thread"
)]

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::folder::{Folder, open_to_write};
use crate::limits::{FILE_BYTES, LEDGER_BYTES};
use crate::records::RecordKeeper;
use crate::settings::StatePlace;

/// The records of a server.
#[derive(Debug)]
pub(crate) struct State {
    records: Box<dyn RecordKeeper>,
    lock: PathBuf,
}

/// The right to order and to write. It ends with the value, and with the process.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    /// Unlocks the file instead of only closing it: a thread that has copied the table of descriptors since then still
    /// has the file open, which would keep the lock.
    fn drop(&mut self) {
        // If this fails, the lock ends with the process.
        let _ = self.0.unlock();
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'a> {
    Ledger,
    /// The account with an issuer, by its key.
    Account(&'a str),
    /// Chain and key of the names with this key.
    Certificate(&'a str),
    /// The order that is under way for the names with this key.
    Order(&'a str),
}

impl Stored<'_> {
    /// The name of its file, which has the same name in a store.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Ledger => "ledger.json".to_owned(),
            Self::Account(key) => format!("accounts/{key}.json"),
            Self::Certificate(key) => format!("certificates/{key}.pem"),
            Self::Order(key) => format!("orders/{key}.json"),
        }
    }

    /// Bytes that it may have.
    const fn most(&self) -> u64 {
        match self {
            Self::Ledger => LEDGER_BYTES,
            Self::Account(_) | Self::Certificate(_) | Self::Order(_) => FILE_BYTES,
        }
    }

    /// Refuses content that is too long.
    fn check(&self, bytes: &[u8]) -> io::Result<()> {
        if u64::try_from(bytes.len()).is_ok_and(|length| length <= self.most()) {
            return Ok(());
        }
        let text = format!("{} has more than {} bytes", self.name(), self.most());
        Err(io::Error::new(ErrorKind::InvalidData, text))
    }
}

impl State {
    /// Opens the directory, and makes it if it is not there. The files in it are made readable for this user only. In
    /// the other places, the records are those of the server.
    pub(crate) fn open(
        place: &StatePlace,
        records: Option<Box<dyn RecordKeeper>>,
    ) -> io::Result<Self> {
        let records = match (place, records) {
            (StatePlace::Directory(path), _) => Box::new(Folder::open(path)?),
            (StatePlace::Server { .. }, Some(records)) => records,
            (StatePlace::Server { .. }, None) => {
                return Err(io::Error::new(ErrorKind::NotFound, "the server has no store"));
            }
        };
        Ok(Self { records, lock: place.lock() })
    }

    /// Takes the lock unless another server has it.
    pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
        let file = open_to_write(&self.lock)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether this lock is still that of the state. If its file was removed, another server may have made and locked
    /// another one.
    pub(crate) fn is_locked_by(&self, lock: &Lock) -> bool {
        let same = |file: Metadata, locked: Metadata| {
            (file.dev(), file.ino()) == (locked.dev(), locked.ino())
        };
        fs::metadata(&self.lock)
            .and_then(|file| Ok(same(file, lock.0.metadata()?)))
            .unwrap_or(false)
    }

    /// The content of a record; `None` if it is not there.
    pub(crate) fn read(&self, stored: &Stored<'_>) -> io::Result<Option<Vec<u8>>> {
        let bytes = self.records.read(&stored.name(), stored.most() + 1)?;
        bytes.as_ref().map_or(Ok(()), |bytes| stored.check(bytes))?;
        Ok(bytes)
    }

    /// Whether a record is there. If that cannot be found out, it is.
    pub(crate) fn has(&self, stored: &Stored<'_>) -> bool {
        self.records.has(&stored.name()).unwrap_or(true)
    }

    /// Replaces a record. Content that could not be read again is refused.
    pub(crate) fn write(&self, stored: &Stored<'_>, bytes: &[u8]) -> io::Result<()> {
        stored.check(bytes)?;
        self.records.write(&stored.name(), bytes)
    }

    /// Removes a record if it is there.
    pub(crate) fn remove(&self, stored: &Stored<'_>) -> io::Result<()> {
        self.records.remove(&stored.name())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn state_in(folder: &tempfile::TempDir) -> State {
        State::open(&StatePlace::Directory(folder.path().to_owned()), None).unwrap()
    }

    #[test]
    fn a_lock_that_is_given_back_is_free_even_if_another_thread_has_a_copy_of_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let state = state_in(&folder);
        let lock = state.lock().unwrap().unwrap();
        let copy = lock.0.try_clone().unwrap();
        assert!(state.lock().unwrap().is_none());
        drop(lock);
        assert!(state.lock().unwrap().is_some());
        drop(copy);
    }

    #[test]
    fn a_file_is_replaced_and_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let state = state_in(&folder);
        state.write(&Stored::Certificate("a"), b"old").unwrap();
        let mut old = File::open(folder.path().join("certificates/a.pem")).unwrap();
        state.write(&Stored::Certificate("a"), b"new").unwrap();
        // A reader that opened the file before has the whole old content.
        let mut content = String::new();
        old.read_to_string(&mut content).unwrap();
        assert_eq!(content, "old");
        assert_eq!(state.read(&Stored::Certificate("a")).unwrap().unwrap(), b"new");
    }

    #[test]
    fn a_file_that_is_too_long_is_neither_written_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let state = state_in(&folder);
        for stored in [Stored::Ledger, Stored::Certificate("a"), Stored::Order("a")] {
            let length = usize::try_from(stored.most()).unwrap();
            state.write(&stored, &vec![b' '; length]).unwrap();
            assert_eq!(state.read(&stored).unwrap().unwrap().len(), length);
            let refused = state.write(&stored, &vec![b' '; length + 1]).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidData);
            // The old record is not replaced, and nothing is left of the attempt.
            assert_eq!(state.read(&stored).unwrap().unwrap().len(), length);
            let path = folder.path().join(stored.name());
            assert!(!path.with_extension("new").exists());
            fs::write(&path, vec![b' '; length + 1]).unwrap();
            assert_eq!(state.read(&stored).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
