//! The state directory: files that are whole or not there, and the lock that lets one server order.
//!
//! Owns names, modes and the replacement of files. Knows nothing of their content. Only the server with the lock
//! writes.
#![expect(
    clippy::disallowed_types,
    reason = "its files are opened, read and closed on the control thread"
)]

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::limits::{FILE_BYTES, LEDGER_BYTES};

/// The folders in the directory.
const FOLDERS: [&str; 3] = ["accounts", "certificates", "orders"];

/// The directory.
#[derive(Debug)]
pub(crate) struct State {
    path: PathBuf,
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

/// A file of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'a> {
    /// The ledger.
    Ledger,
    /// The account with an issuer, by its key.
    Account(&'a str),
    /// Chain and key of the names with this key.
    Certificate(&'a str),
    /// The order that is under way for the names with this key.
    Order(&'a str),
}

impl Stored<'_> {
    fn name(&self) -> String {
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

/// Makes the state directory and the folders in it if they are not there: for a server that may make none later. Only
/// the user of this process can read one that is made; one that is there keeps its mode.
///
/// # Errors
/// If one cannot be made.
pub fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path)?;
    FOLDERS.iter().try_for_each(|folder| builder.create(path.join(folder)))
}

impl State {
    /// Opens the directory, and makes it if it is not there. The files in it are made readable for this user only.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        make(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Takes the lock unless another server has it.
    pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
        let file = self.open_to_write("lock")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The content of a file; `None` if it is not there.
    pub(crate) fn read(&self, stored: &Stored<'_>) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.path.join(stored.name())) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(stored.most() + 1).read_to_end(&mut bytes)?;
        stored.check(&bytes)?;
        Ok(Some(bytes))
    }

    /// Whether a file is there. If that cannot be found out, it is.
    pub(crate) fn has(&self, stored: &Stored<'_>) -> bool {
        fs::exists(self.path.join(stored.name())).unwrap_or(true)
    }

    /// Replaces a file. Whatever happens, the whole old content or the whole new content is there afterwards. Content
    /// that could not be read again is refused.
    pub(crate) fn write(&self, stored: &Stored<'_>, bytes: &[u8]) -> io::Result<()> {
        stored.check(bytes)?;
        let name = stored.name();
        let path = self.path.join(&name);
        let new = format!("{name}.new");
        let written =
            self.write_new(&new, bytes).and_then(|()| fs::rename(self.path.join(&new), &path));
        if written.is_err() {
            // What could be written of it only takes room. If it cannot be removed, the next write truncates it.
            let _ = fs::remove_file(self.path.join(&new));
        }
        written?;
        let folder = path.parent().unwrap_or(&self.path);
        File::open(folder)?.sync_all()
    }

    fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.open_to_write(name)?;
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn open_to_write(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options.open(self.path.join(name))
    }

    /// Removes a file if it is there.
    pub(crate) fn remove(&self, stored: &Stored<'_>) -> io::Result<()> {
        match fs::remove_file(self.path.join(stored.name())) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_given_back_is_free_even_if_another_thread_has_a_copy_of_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
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
        let state = State::open(folder.path()).unwrap();
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
        let state = State::open(folder.path()).unwrap();
        for stored in [Stored::Ledger, Stored::Certificate("a"), Stored::Order("a")] {
            let length = usize::try_from(stored.most()).unwrap();
            state.write(&stored, &vec![b' '; length]).unwrap();
            assert_eq!(state.read(&stored).unwrap().unwrap().len(), length);
            let refused = state.write(&stored, &vec![b' '; length + 1]).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidData);
            // What was there is not replaced, and nothing is left of the attempt.
            assert_eq!(state.read(&stored).unwrap().unwrap().len(), length);
            let path = folder.path().join(stored.name());
            assert!(!path.with_extension("new").exists());
            fs::write(&path, vec![b' '; length + 1]).unwrap();
            assert_eq!(state.read(&stored).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
