//! The files and variables that a configuration names, from the disk and the environment of this process.
//!
//! Never decides what is read: the configuration does.

use std::io;
use std::path::{Path, PathBuf};

use config::Outside;
use sys::regular_file;

/// The machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk;

impl Outside for Disk {
    fn text(&self, file: &Path, most: usize) -> Result<String, String> {
        regular_file::text(file, most).map_err(|error| error.to_string())
    }

    fn names(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        let names = std::fs::read_dir(directory)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
        names.map_err(|error: io::Error| error.to_string())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
