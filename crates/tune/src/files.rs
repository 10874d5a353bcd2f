//! The files of a host.
//!
//! Owns that all reading goes through one directory, `/` or the copy of another machine, and that nothing is ever written. A file that is not there, or
//! may not be read, is an answer and no error.

#![expect(clippy::disallowed_types, reason = "a command has one descriptor table")]

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::limits::FILE_SIZE;

/// What became of a look at a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Text(String),
    Absent,
    /// It may not be read.
    Denied,
}

/// The files below a directory.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// Those below this one.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A file, without the white space at its end.
    pub(crate) fn look(&self, path: &str) -> Look {
        let mut text = String::new();
        let read = File::open(self.path(path))
            .and_then(|file| file.take(FILE_SIZE).read_to_string(&mut text));
        match read {
            Ok(_) => Look::Text(text.trim_end().to_owned()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Look::Denied,
            Err(_) => Look::Absent,
        }
    }

    /// The text of a file that is there and may be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        match self.look(path) {
            Look::Text(text) => Some(text),
            Look::Absent | Look::Denied => None,
        }
    }

    /// The whole number that a file has.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }

    /// A sysctl, by its name with dots.
    pub(crate) fn sysctl(&self, name: &str) -> Option<u64> {
        self.number(&format!("/proc/sys/{}", name.replace('.', "/")))
    }

    /// Whether there is such a file or directory.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The names in a directory, in their order.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else { return Vec::new() };
        let name =
            |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// The last part of what a link leads to.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let target = std::fs::read_link(self.path(path)).ok()?;
        target.file_name()?.to_str().map(str::to_owned)
    }
}
