//! Writes a report to a file: an HTML page, or the format of another tool.
//!
//! Owns that the file is complete or does not exist. Replaces nothing but regular files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Failure;

/// Reports before a run why its page could not be written.
pub(crate) fn check(flag: &str, path: &Path) -> Result<(), Failure> {
    let wrong = |what: &str| Failure::WrongUse(format!("{flag} {}: {what}", path.display()));
    if path.is_dir() || path.file_name().is_none() {
        return Err(wrong("this is a directory; name a file"));
    }
    if !folder(path).is_dir() {
        return Err(wrong("its directory does not exist"));
    }
    Ok(())
}

/// Writes the page beside its destination, then renames it.
pub(crate) fn write(flag: &str, path: &Path, page: &str) -> Result<(), Failure> {
    let written = match fs::metadata(path) {
        // A pipe or a device is written directly; renaming a file over it would replace it.
        Ok(found) if !found.is_file() => fs::write(path, page),
        _ => replace(path, page),
    };
    written.map_err(|error| {
        Failure::Failed(format!("{flag} {}: cannot be written: {error}", path.display()))
    })
}

fn replace(path: &Path, page: &str) -> io::Result<()> {
    // A symbolic link is kept: its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = folder(&path).join(name);
    // The temporary file must be new, so that no file or link of another user is written through.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&part)?;
    let moved = file
        .write_all(page.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&part, &path));
    if moved.is_err() {
        // The first error is the one to report.
        let _removed = fs::remove_file(&part);
    }
    moved
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
