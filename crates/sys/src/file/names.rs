//! The names in a directory, in an order chosen by the caller.
//!
//! Owns how many are held while a directory of any size is read. Never follows a link.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{AtFlags, RawDir};
use rustix::io::Errno;

use super::{FileHandle, Metadata};

/// Bytes of directory records read by one system call. Fewer cost more calls, more cost memory.
pub(crate) const RECORDS_SIZE: usize = 32 * 1024;

/// A name in a directory and its metadata; links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The name, in the bytes of the file system.
    pub name: OsString,
    /// The metadata of the file with that name.
    pub metadata: Metadata,
}

/// The names in a directory, in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryNames {
    /// Without `.` and `..`.
    pub entries: Vec<NamedFile>,
    /// Whether the directory has more names than were requested.
    pub cut: bool,
}

impl FileHandle {
    /// Reads at most `most` names of a directory: the first ones in this order. A name that is removed meanwhile is
    /// left out.
    ///
    /// # Errors
    /// The kernel's, of `getdents64`; `ENOTDIR` for a file; `EACCES` for a directory whose names may be listed and not
    /// used.
    pub fn read_names(
        &self,
        most: usize,
        order: impl Fn(&DirectoryEntry, &DirectoryEntry) -> Ordering,
    ) -> io::Result<DirectoryNames> {
        let mut found = Vec::new();
        let mut cut = false;
        let mut records = vec![MaybeUninit::uninit(); RECORDS_SIZE];
        let mut records = RawDir::new(&self.descriptor, &mut records);
        while let Some(record) = records.next() {
            let record = record?;
            let name = record.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let is_directory = record.file_type() == rustix::fs::FileType::Directory;
            found.push(DirectoryEntry { name: OsString::from_vec(name.to_vec()), is_directory });
            // For a directory of any size, no more than twice as many are held.
            if found.len() > most.saturating_mul(2) {
                cut |= keep_first(&mut found, most, &order);
            }
        }
        cut |= keep_first(&mut found, most, &order);
        let mut names = DirectoryNames { entries: Vec::with_capacity(found.len()), cut };
        for entry in found {
            names.entries.extend(self.look_at(entry.name)?);
        }
        Ok(names)
    }

    fn look_at(&self, name: OsString) -> io::Result<Option<NamedFile>> {
        match rustix::fs::statat(&self.descriptor, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(NamedFile { name, metadata: Metadata::new(&stat) })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Keeps the first `most` entries; `true` if it left some out.
fn keep_first(
    found: &mut Vec<DirectoryEntry>,
    most: usize,
    order: impl Fn(&DirectoryEntry, &DirectoryEntry) -> Ordering,
) -> bool {
    if found.len() <= most {
        return false;
    }
    if most > 0 {
        found.select_nth_unstable_by(most - 1, order);
    }
    found.truncate(most);
    true
}

/// A name in a directory, before its metadata was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name.
    pub name: OsString,
    /// Whether it is a directory, according to the directory that contains the name. A link is not.
    pub is_directory: bool,
}
