//! Jobs of a scheduler for a helper thread, and their results: plain data, never a descriptor.
//!
//! Owns the shapes of [`Job`] and [`LookupResult`]. Never executes them (`disk` does).

use std::sync::Arc;

use sys::file::Metadata;
use wire::http::encoding::{Available, Coding};

use super::absence::{Absence, FileFailure};
use super::listing::Listing;
use super::representation::Representation;
use super::rules::{FileRules, RootIndex};

/// The key of a cached result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryKey<'k> {
    /// The root.
    pub root: RootIndex,
    /// The path as returned by `wire::http::target::resolve`: decoded, with a leading slash.
    pub path: &'k str,
}

/// The knowledge of the cache and its wishes for a lookup; becomes part of a [`Job`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The previous result, so that an unchanged file need not be read again.
    pub known: Option<Arc<FileState>>,
    /// Codings to compress with on the fly; ignored for files that are not worth it.
    pub wanted: Available,
}

/// A lookup for a helper thread.
#[derive(Clone, Debug)]
pub struct Job {
    /// The root.
    pub root: RootIndex,
    /// The path, as in [`EntryKey`].
    pub path: Box<str>,
    /// The rules of the root.
    pub rules: Arc<FileRules>,
    /// The knowledge and the wishes of the cache.
    pub errand: Errand,
    /// The time of the job in milliseconds since 1970.
    pub wall_ms: u64,
}

impl Job {
    /// A lookup of `key`; `wall_ms` is the current time in milliseconds since 1970.
    pub fn new(key: EntryKey<'_>, rules: &Arc<FileRules>, errand: Errand, wall_ms: u64) -> Self {
        let (path, rules) = (key.path.into(), Arc::clone(rules));
        Self { root: key.root, path, rules, errand, wall_ms }
    }

    /// The key under which the result is cached.
    pub fn key(&self) -> EntryKey<'_> {
        EntryKey { root: self.root, path: &self.path }
    }
}

/// A region of a large file to read into the page cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warm {
    /// The root.
    pub root: RootIndex,
    /// The file, as named by [`Large`](super::representation::Large).
    pub relative: Arc<str>,
    /// The start of the region.
    pub offset: u64,
    /// The number of bytes; at most [`limits::WARM_SIZE_MAX`](super::limits::WARM_SIZE_MAX) are read.
    pub length: u64,
}

/// The result of a [`Warm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmed {
    /// This many bytes from the offset on are in the page cache; fewer than requested at the end of the file.
    Read(u64),
    /// The file cannot be read; the connection that waits for it must be closed.
    Failed(FileFailure),
}

/// The result of a lookup.
#[derive(Debug)]
pub enum LookupResult {
    /// [`Errand::known`] is still current, and nothing more was wanted.
    Unchanged,
    /// New content.
    Content(PathContent),
}

/// The content at a path.
#[derive(Debug)]
pub enum PathContent {
    /// A file, perhaps the index of a directory.
    File(FileContent),
    /// The names of a directory.
    Listing(Box<Listing>),
    /// A directory, but the path lacks the trailing slash.
    Redirect,
    /// Nothing for a client: no such file, hidden, outside of the root, unreadable, or not a regular file.
    Missing(Absence),
    /// A failure on our side.
    Failed(FileFailure),
}

/// A file with everything needed to answer requests for it.
#[derive(Debug)]
pub struct FileContent {
    /// For comparison in the next lookup.
    pub known: Arc<FileState>,
    /// The available representations; the first is the file itself.
    pub representations: Vec<Representation>,
    /// The same, as a set.
    pub available: Available,
    /// These plus the codings in which the file could be compressed on the fly, but was not yet.
    pub possible: Available,
    /// Seconds since 1970 for `Last-Modified`; 0 if there is none.
    pub last_modified: u64,
}

impl FileContent {
    /// The representation with this coding.
    pub fn representation(&self, coding: Coding) -> Option<&Representation> {
        self.representations.iter().find(|representation| representation.coding == coding)
    }
}

/// The state of a file when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// The file below the root: the requested one, or the index of the directory.
    pub relative: Arc<str>,
    /// The kernel's metadata of it.
    pub file: Metadata,
    /// The metadata of its precompressed siblings, in the order of [`SIBLINGS`].
    pub siblings: [Option<Metadata>; SIBLINGS.len()],
    /// Whether the time stamps reveal every change.
    pub trust: TimeTrust,
    /// Codings that were tried on the fly, successfully or not.
    pub tried: Available,
    /// The rules under which it was read: under others, even equal ones, it is read again.
    pub rules: Arc<FileRules>,
}

/// Whether equal time stamps prove equal content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeTrust {
    /// Yes.
    Settled,
    /// No: the file was changed just before it was read, and may have changed again within the same tick of the clock.
    Unsettled,
}

/// The codings in which a file may exist on disk, and the extension of each.
pub const SIBLINGS: [(Coding, &str); 3] =
    [(Coding::Brotli, ".br"), (Coding::Zstd, ".zst"), (Coding::Gzip, ".gz")];
