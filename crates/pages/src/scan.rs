//! Searches for pages below a root, and for modules below theirs.
//!
//! Owns the walk through directories and its limits. Waits for the disk: it runs before the
//! schedulers do, or on its own thread. Never follows a link that the root does not follow, and
//! never leaves the root. Files that are temporarily unreadable are never treated as missing.

use std::io;
use std::path::Path;

use sys::file::{Directory, FileHandle, FileKind, Obstacle};

use super::error::PagesError;
use crate::limits::{PAGE_BYTES_MAX, PAGE_DEPTH_MAX, PAGE_ENTRIES_MAX, PAGE_READ_BYTES, PAGES_MAX};
use config::PageName;
use files::rules::Root;

/// A page that was found.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name.
    pub name: PageName,
    /// Its text, or the reason why there is none.
    pub text: Result<String, Unreadable>,
}

/// Why a page has no text.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// It cannot be opened or read.
    Failed(io::Error),
    /// It was there before, but this user cannot read its directory now.
    Closed,
    /// It is longer than [`PAGE_BYTES_MAX`].
    TooLong,
    /// It is not UTF-8, from this byte on.
    NotText {
        /// The first invalid byte, counted from 0.
        offset: usize,
    },
}

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// The pages, sorted by name.
    pub sources: Vec<Source>,
    /// The directories that were searched, as paths below the root without trailing slashes.
    pub directories: Vec<String>,
    /// The directories that this user cannot read, with the kernel's error.
    pub closed: Vec<(String, io::Error)>,
    /// Whether a limit ended the search, so that there may be pages that were not found.
    pub is_cut: bool,
}

impl Walked {
    /// Pages known in directories that cannot be read now count as existing but unreadable.
    pub(super) fn recall<'a>(&mut self, known: impl Iterator<Item = &'a PageName>) {
        let closed: Vec<&str> = self.closed.iter().map(|(relative, _)| &**relative).collect();
        let is_closed =
            |name: &&PageName| closed.iter().any(|directory| is_in(&name.file, directory));
        let recalled =
            |name: &PageName| Source { name: name.clone(), text: Err(Unreadable::Closed) };
        self.sources.extend(known.filter(is_closed).map(recalled));
        self.sort();
    }

    fn sort(&mut self) {
        self.sources.sort_unstable_by(|one, other| one.name.file.cmp(&other.name.file));
    }

    /// The consequence of a directory that cannot be read.
    fn close(&mut self, root: &Root, relative: String, error: io::Error) -> Result<(), PagesError> {
        match Obstacle::of(&error) {
            // It was removed meanwhile, or replaced by a link.
            Obstacle::NotFound | Obstacle::Outside => Ok(()),
            Obstacle::Forbidden => {
                self.closed.push((relative, error));
                Ok(())
            }
            _ => Err(unread(root, &relative, error)),
        }
    }
}

/// Searches for files with such names. A root that does not exist has none.
///
/// # Errors
/// If a directory exists and is accessible but cannot be read, or the host lacks the resources to read a file.
pub(super) fn walk(
    root: &Root,
    name_of: fn(&str) -> Option<PageName>,
) -> Result<Walked, PagesError> {
    let mut walked = Walked::default();
    let directory = match Directory::open(&root.path) {
        Ok(directory) => directory,
        Err(error) => return walked.close(root, String::new(), error).map(|()| walked),
    };
    let mut entries = 0;
    let mut waiting = vec![(String::new(), 0)];
    while let Some((relative, depth)) = waiting.pop() {
        let listed = open_directory(&directory, &relative, root).and_then(|handle| {
            handle.read_names(PAGE_ENTRIES_MAX - entries, |left, right| left.name.cmp(&right.name))
        });
        let names = match listed {
            Ok(names) => names,
            Err(error) => {
                walked.close(root, relative, error)?;
                continue;
            }
        };
        entries += names.entries.len();
        walked.is_cut |= names.cut;
        for named in names.entries {
            let Ok(name) = named.name.into_string() else { continue };
            let below = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            match named.metadata.kind {
                // Hidden directories are not searched: `.git` alone has thousands of names.
                FileKind::Directory if is_hidden(&below) => {}
                FileKind::Directory if depth < PAGE_DEPTH_MAX => waiting.push((below, depth + 1)),
                FileKind::Directory => walked.is_cut = true,
                FileKind::Regular | FileKind::Symlink => {
                    let Some(name) = name_of(&below) else { continue };
                    if walked.sources.len() == PAGES_MAX {
                        walked.is_cut = true;
                        break;
                    }
                    let text = match read(&directory, &below, root) {
                        Err(Unreadable::Failed(error)) if is_short(&error) => {
                            return Err(unread(root, &below, error));
                        }
                        text => text,
                    };
                    walked.sources.push(Source { name, text });
                }
                FileKind::Other => {}
            }
        }
        walked.directories.push(relative);
    }
    walked.sort();
    Ok(walked)
}

/// A directory that this user may list but not search counts as one that cannot be opened.
fn open_directory(directory: &Directory, relative: &str, root: &Root) -> io::Result<FileHandle> {
    directory.open_beneath(&Path::new(relative).join("."), root.symlinks)
}

/// Whether the host lacks a resource that every read needs.
fn is_short(error: &io::Error) -> bool {
    matches!(Obstacle::of(error), Obstacle::Exhausted | Obstacle::WouldWait)
}

fn unread(root: &Root, relative: &str, error: io::Error) -> PagesError {
    PagesError::Unread { path: root.path.join(relative), error }
}

fn is_in(file: &str, directory: &str) -> bool {
    let rest = file.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
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
