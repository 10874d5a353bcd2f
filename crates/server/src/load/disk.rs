//! The files and variables that a configuration names, from the disk and the environment of this process.
//!
//! Owns what may be read as a text. Never decides what is read: the configuration does.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use config::Outside;

/// The machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk;

impl Outside for Disk {
    fn text(&self, file: &Path) -> Result<String, String> {
        read_text(file).map_err(|error| error.to_string())
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

/// Reads a configuration. A pipe is refused: it may never end, and a reload would find nothing in it.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_fifo() || kind.is_socket() {
        let why = "it is a pipe or a socket; write the configuration into a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    std::fs::read_to_string(path)
}
