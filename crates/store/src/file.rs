//! The name of the store's file. Opens the files next to it and adds their names to errors.
//!
//! Owns their permissions. Never reads or writes one.

#![expect(
    clippy::disallowed_types,
    reason = "the files stay in the table of the thread that opens the store"
)]

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::failure::StoreFailure;

/// The file in the directory of a store that contains its records: LMDB gives it this name.
pub const DATA_FILE: &str = "data.mdb";

/// Opens a file for reading and writing. A missing file is created, with access for the user of this process only.
///
/// # Errors
/// If it cannot be opened, or is a pipe or a device, which store nothing.
pub(crate) fn open(path: &Path) -> Result<File, StoreFailure> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let opened = options.open(path).and_then(|file| {
        let is_regular = file.metadata()?.is_file();
        is_regular.then_some(file).ok_or_else(|| io::Error::other("not a regular file"))
    });
    opened.map_err(|error| match error.into() {
        StoreFailure::Storage(text) => {
            StoreFailure::Storage(format!("`{}`: {text}", path.display()))
        }
        other => other,
    })
}
