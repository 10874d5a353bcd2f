//! A folder for the files of one run.

use std::io;
use std::path::{Path, PathBuf};

/// The folder; it is removed with what is in it when this is dropped.
pub(crate) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    pub(crate) fn at(folder: PathBuf) -> io::Result<Scratch> {
        std::fs::create_dir_all(&folder)?;
        Ok(Scratch { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("xtask: {} stays: {error}", self.folder.display());
        }
    }
}
