//! Looking for pages below a root, and for modules below theirs.
//!
//! Owns the walk through its directories and the bounds of it. Waits for the disk: it runs before the schedulers do, or on
//! a thread of its own. Never follows a link that the root does not follow, and never leaves the root.

use std::io;
use std::path::Path;

use sys::file::{Directory, Kind};

use super::name::PageName;
use crate::files::rules::Root;
use crate::limits::{PAGE_BYTES_MAX, PAGE_DEPTH_MAX, PAGE_ENTRIES_MAX, PAGE_READ_BYTES, PAGES_MAX};

/// A page as it was found.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name.
    pub name: PageName,
    /// Its text, or why there is none.
    pub text: Result<String, Unreadable>,
}

/// Why a page has no text.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// It cannot be opened or read.
    Failed(io::Error),
    /// It is longer than [`PAGE_BYTES_MAX`].
    TooLong,
    /// It is not UTF-8, from this byte on.
    NotText {
        /// The first byte that is not.
        offset: usize,
    },
}

/// What a walk brought.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// The pages, in the order of their names.
    pub sources: Vec<Source>,
    /// The directories looked into, as paths below the root without slashes at their ends.
    pub directories: Vec<String>,
    /// Whether a bound ended the walk: there may be pages that were not found.
    pub is_cut: bool,
}

/// Looks for the files that have such a name.
///
/// # Errors
/// When the root cannot be opened.
pub(super) fn walk(root: &Root, name_of: fn(&str) -> Option<PageName>) -> io::Result<Walked> {
    let directory = Directory::open(&root.path)?;
    let mut walked = Walked::default();
    let mut entries = 0;
    let mut waiting = vec![(String::new(), 0)];
    while let Some((relative, depth)) = waiting.pop() {
        let path = if relative.is_empty() { Path::new(".") } else { Path::new(&relative) };
        // What cannot be read or has gone meanwhile holds no page for us.
        let Ok(names) = directory
            .open_beneath(path, root.symlinks)
            .and_then(|handle| handle.read_names(PAGE_ENTRIES_MAX - entries))
        else {
            continue;
        };
        entries += names.entries.len();
        walked.is_cut |= names.cut;
        for named in names.entries {
            let Ok(name) = named.name.into_string() else { continue };
            let below = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            match named.metadata.kind {
                // What is hidden from clients is not looked through: `.git` alone has thousands of names.
                Kind::Directory if is_hidden(&below) => {}
                Kind::Directory if depth < PAGE_DEPTH_MAX => waiting.push((below, depth + 1)),
                Kind::Directory => walked.is_cut = true,
                Kind::Regular | Kind::Symlink => {
                    let Some(name) = name_of(&below) else { continue };
                    if walked.sources.len() == PAGES_MAX {
                        walked.is_cut = true;
                        break;
                    }
                    let text = read(&directory, &below, root);
                    walked.sources.push(Source { name, text });
                }
                Kind::Other => {}
            }
        }
        walked.directories.push(relative);
    }
    walked.sources.sort_unstable_by(|one, other| one.name.file.cmp(&other.name.file));
    Ok(walked)
}

fn is_hidden(relative: &str) -> bool {
    relative.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}

fn read(directory: &Directory, relative: &str, root: &Root) -> Result<String, Unreadable> {
    let handle =
        directory.open_beneath(Path::new(relative), root.symlinks).map_err(Unreadable::Failed)?;
    let (mut bytes, mut length) = (Vec::new(), 0);
    while length <= PAGE_BYTES_MAX {
        bytes.resize((length + PAGE_READ_BYTES).min(PAGE_BYTES_MAX + 1), 0);
        match handle.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) => return Err(Unreadable::Failed(error)),
        }
    }
    if length > PAGE_BYTES_MAX {
        return Err(Unreadable::TooLong);
    }
    bytes.truncate(length);
    String::from_utf8(bytes)
        .map_err(|error| Unreadable::NotText { offset: error.utf8_error().valid_up_to() })
}
