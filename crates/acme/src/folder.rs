//! A directory of records: files that are whole or not there.
//!
//! Owns modes and the replacement of files. Knows nothing of their content.
#![expect(
    clippy::disallowed_types,
    reason = "its files are opened, read and closed on the control thread"
)]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::records::RecordKeeper;

/// The folders in the directory.
const FOLDERS: [&str; 3] = ["accounts", "certificates", "orders"];

/// The directory.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// Makes the directory and the folders in it if they are not there. Only the user of this process can read one that is
/// made; one that is there keeps its mode.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path)?;
    FOLDERS.iter().try_for_each(|folder| builder.create(path.join(folder)))
}

/// Opens a file that only this user can read, and makes it if it is not there.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(path)
}

impl Folder {
    /// Opens the directory, and makes it if it is not there.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        make(path)?;
        Ok(Self { path: path.to_owned() })
    }

    fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = open_to_write(&self.path.join(name))?;
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()
    }
}

impl RecordKeeper for Folder {
    fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.path.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        fs::exists(self.path.join(name))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        let new = format!("{name}.new");
        let written =
            self.write_new(&new, bytes).and_then(|()| fs::rename(self.path.join(&new), &path));
        if written.is_err() {
            // A part of it that was written only takes room. If it cannot be removed, the next write truncates it.
            let _ = fs::remove_file(self.path.join(&new));
        }
        written?;
        let folder = path.parent().unwrap_or(&self.path);
        File::open(folder)?.sync_all()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
