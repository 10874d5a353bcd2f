//! Looks at directories and files that a configuration names.
//!
//! Owns the looking, on the main thread. Never opens a file.

use std::io;
use std::path::Path;

use super::LoadError;

/// Whether a file is there. One that this user may not look for could be there.
pub(super) fn is_there(path: &Path) -> io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(found.is_file()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(false),
    }
}

pub(super) fn look_at_directory(path: &Path) -> Result<(), LoadError> {
    list_directory(path).map_err(|error| LoadError::Directory { path: path.to_path_buf(), error })
}

pub(super) fn list_directory(path: &Path) -> io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    std::fs::read_dir(path).map(drop)
}
