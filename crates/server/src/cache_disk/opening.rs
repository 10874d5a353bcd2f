//! The requirements of the directory of a cache.
//!
//! Owns that it is for a cache alone: everything in it may be deleted, so one that has anything else in it is refused.
//! Its tag is that of <https://bford.info/cachedir/>, by which programs that back up files leave it out.

use std::io;
use std::path::Path;

use sys::file::may_create_in;
use sys::spool::{Existing, Holders, Spool};

/// The purges at work.
pub(super) const PURGES: &str = "purges";
const TAG: &str = "CACHEDIR.TAG";
const TAG_PART: &str = "tag.part";
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# Answers of servers, stored by \
                        Velodrome. All files in this directory may be deleted at any time.\n";

/// Whether a file is not a stored answer, and belongs here.
pub(super) fn is_own(name: &str) -> bool {
    matches!(name, "." | ".." | PURGES | TAG)
}

/// Whether a server could use an existing directory.
///
/// # Errors
/// Why not.
pub(crate) fn check(directory: &Path) -> io::Result<()> {
    may_create_in(directory)?;
    std::fs::read_dir(directory)?;
    is_for_cache(directory)
}

/// Makes a directory that is missing, for this process alone.
///
/// # Errors
/// Why it cannot be made.
pub(crate) fn make(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if directory.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Locks a directory for this process, as long as what is returned lives.
///
/// # Errors
/// If it is not for a cache, or another server has it.
pub(crate) fn hold(directory: &Path) -> io::Result<Spool> {
    let spool = Spool::open(directory)?;
    if spool.hold(|_| {}) == Holders::Others {
        let why = "another server uses it, or its file system has no locks";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    is_for_cache(directory)?;
    if !directory.join(TAG).exists() {
        spool.remove(TAG_PART)?;
        let file = spool.create(TAG_PART)?;
        file.append(TAG_TEXT.as_bytes())?;
        spool.save(TAG_PART, file.identity(), TAG, Existing::Kept)?;
    }
    Ok(spool)
}

fn is_for_cache(directory: &Path) -> io::Result<()> {
    match std::fs::read_to_string(directory.join(TAG)) {
        Ok(text) if text == TAG_TEXT => return Ok(()),
        Ok(_) => return Err(io::Error::other("it is the cache of another program")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // The tag of a server that ended as it was about to write it.
    let is_other = |entry: io::Result<std::fs::DirEntry>| {
        entry.map_or(true, |entry| entry.file_name().to_str() != Some(TAG_PART))
    };
    match std::fs::read_dir(directory)?.any(is_other) {
        false => Ok(()),
        true => {
            let why =
                "there are files in it that are not of a cache, and all of them would be deleted";
            Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, why))
        }
    }
}
