//! Jobs of a scheduler for a helper thread, and their results: plain data, never a descriptor.
//!
//! Owns the shapes of [`Job`] and [`Found`]. Never executes them (`disk` does).

use std::sync::Arc;

use sys::file::Metadata;
use wire::http::encoding::{Available, Coding};

use super::absence::{Absence, Failure};
use super::listing::Listing;
use super::representation::Representation;
use super::rules::{FileRules, RootIndex};

/// What a cached result is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key<'k> {
    /// Below which root.
    pub root: RootIndex,
    /// The path as `wire::http::target::resolve` gives it: decoded, with a leading slash.
    pub path: &'k str,
}

/// What the cache knows and wants when it asks for a look-up; becomes part of a [`Job`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// What was found the last time, so that the same need not be read again.
    pub known: Option<Arc<Known>>,
    /// Codings to compress with on the fly; of no effect on what is not worth it.
    pub wanted: Available,
}

/// A look-up for a helper thread.
#[derive(Clone, Debug)]
pub struct Job {
    /// Below which root.
    pub root: RootIndex,
    /// The path, as in [`Key`].
    pub path: Box<str>,
    /// The rules of the root.
    pub rules: Arc<FileRules>,
    /// What the cache says.
    pub errand: Errand,
    /// Milliseconds since 1970 when the job was made.
    pub wall_ms: u64,
}

impl Job {
    /// The look-up of `key`; `wall_ms` is now, in milliseconds since 1970.
    #[must_use]
    pub fn new(key: Key<'_>, rules: &Arc<FileRules>, errand: Errand, wall_ms: u64) -> Self {
        let (path, rules) = (key.path.into(), Arc::clone(rules));
        Self { root: key.root, path, rules, errand, wall_ms }
    }

    /// What the answer is to be put into the cache by.
    #[must_use]
    pub fn key(&self) -> Key<'_> {
        Key { root: self.root, path: &self.path }
    }
}

/// A region of a large file to be brought into the page cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warm {
    /// Below which root.
    pub root: RootIndex,
    /// The file, as [`Large`](super::representation::Large) names it.
    pub relative: Arc<str>,
    /// Where the region begins.
    pub offset: u64,
    /// How many bytes; at most [`limits::WARM_SIZE_MAX`](super::limits::WARM_SIZE_MAX) are read.
    pub length: u64,
}

/// What became of a [`Warm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmed {
    /// So many bytes from the offset on are in the page cache; fewer than asked for at the end of the file.
    Read(u64),
    /// The file cannot be read; the connection that waits for it is to be closed.
    Failed(Failure),
}

/// What a helper thread found.
#[derive(Debug)]
pub enum Found {
    /// What [`Errand::known`] says still holds, and nothing more was wanted.
    Unchanged,
    /// Something else, or the first.
    Content(Content),
}

/// What is at a path.
#[derive(Debug)]
pub enum Content {
    /// A file, perhaps the index of a directory.
    File(FileContent),
    /// The names of a directory.
    Listing(Box<Listing>),
    /// A directory, but the path lacks the slash at its end.
    Redirect,
    /// Nothing for a client: no such file, a hidden one, one outside, one that may not be read, no regular file.
    Missing(Absence),
    /// Something went wrong on our side.
    Failed(Failure),
}

/// A file with everything that is needed to answer for it.
#[derive(Debug)]
pub struct FileContent {
    /// What to compare with the next time.
    pub known: Arc<Known>,
    /// The representations there are; the first is identity.
    pub representations: Vec<Representation>,
    /// The same, as a set.
    pub available: Available,
    /// With these and the rules the file could be compressed on the fly, but was not yet asked for.
    pub possible: Available,
    /// Seconds since 1970 as in `Last-Modified`; 0 if there is none.
    pub last_modified: u64,
}

impl FileContent {
    /// The representation with this coding.
    #[must_use]
    pub fn representation(&self, coding: Coding) -> Option<&Representation> {
        self.representations.iter().find(|representation| representation.coding == coding)
    }
}

/// What a file was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The file below the root: that of the path, or the index of its directory.
    pub relative: Arc<str>,
    /// What the kernel told of it.
    pub file: Metadata,
    /// And of its precompressed siblings, in the order of [`SIBLINGS`].
    pub siblings: [Option<Metadata>; SIBLINGS.len()],
    /// Whether the time stamps tell every change.
    pub trust: Trust,
    /// Codings that were tried on the fly, with or without success.
    pub tried: Available,
    /// The rules it was read by: under others, even equal ones, it is read again.
    pub rules: Arc<FileRules>,
}

/// Whether equal time stamps prove equal content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// They do.
    Settled,
    /// The file was changed just before it was read: it may have changed again within the same tick of the clock.
    Unsettled,
}

/// The codings a file may have on disk beside it, and the extension of each.
pub const SIBLINGS: [(Coding, &str); 3] =
    [(Coding::Brotli, ".br"), (Coding::Zstd, ".zst"), (Coding::Gzip, ".gz")];
