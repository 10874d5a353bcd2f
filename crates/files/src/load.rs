//! Reads the bytes of a file on a helper thread.
//!
//! Owns what is held in memory and what is sent from a descriptor, and the races with programs that
//! write the file. Never decides which file.

use std::io;
use std::sync::Arc;

use sys::file::{FileHandle, FileKind, Metadata};

use super::absence::Absence;
use super::limits;
use super::representation::{BodySource, Large};
use super::roots::{OpenRoot, Refusal, classify};

/// Bytes per system call when a region is only read into the page cache.
const WARM_PIECE: usize = 256 * 1024;

/// How to load a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loading {
    /// Up to this many bytes are held in memory.
    pub(crate) held_size: u64,
}

/// A loaded file.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) body: BodySource,
    /// The metadata of the file when the body was read.
    pub(crate) metadata: Metadata,
    /// Whether the file was not written meanwhile. If it was, `body` is from the last read, and `metadata` is older.
    pub(crate) is_stable: bool,
}

/// Reads a file into memory, or begins to warm it if it is large.
///
/// A file that changes while it is read is opened and read again, [`limits::READ_TRIES`] times.
pub(crate) fn read(
    root: &OpenRoot,
    relative: &Arc<str>,
    loading: Loading,
    scratch: &mut Vec<u8>,
) -> Result<Loaded, Refusal> {
    let mut tries = 1;
    loop {
        let handle = root.read(relative)?;
        let loaded = read_once(&handle, relative, loading, scratch)?;
        if loaded.is_stable || tries == limits::READ_TRIES {
            return Ok(loaded);
        }
        tries += 1;
    }
}

fn read_once(
    handle: &FileHandle,
    relative: &Arc<str>,
    loading: Loading,
    scratch: &mut Vec<u8>,
) -> Result<Loaded, Refusal> {
    let metadata = handle.stat().map_err(|error| classify(&error))?;
    if metadata.kind != FileKind::Regular {
        return Err(Absence::NotRegular.into());
    }
    if metadata.size > loading.held_size {
        // Only a precaution: a region that cannot be read now fails when it is sent.
        let _read = warm(handle, 0, metadata.size.min(limits::WARM_FIRST_SIZE), scratch);
        return Ok(Loaded { body: large(relative, metadata), metadata, is_stable: true });
    }
    let size = usize::try_from(metadata.size).map_err(|_| Refusal::from(Absence::NotRegular))?;
    scratch.resize(scratch.len().max(size), 0);
    let length = fill(handle, &mut scratch[..size]).map_err(|error| classify(&error))?;
    let after = handle.stat().map_err(|error| classify(&error))?;
    let body = BodySource::Memory(Arc::from(&scratch[..length]));
    Ok(Loaded { body, metadata, is_stable: after == metadata && length == size })
}

/// A body that is sent from a descriptor.
pub(crate) fn large(relative: &Arc<str>, metadata: Metadata) -> BodySource {
    BodySource::Large(Large { relative: Arc::clone(relative), metadata })
}

/// Reads until the buffer is full or the file ends; returns the number of bytes.
fn fill(handle: &FileHandle, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match handle.read_at(rest, length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

/// Reads a region into the page cache; returns the number of bytes that exist.
pub(crate) fn warm(
    handle: &FileHandle,
    offset: u64,
    length: u64,
    scratch: &mut Vec<u8>,
) -> io::Result<u64> {
    scratch.resize(scratch.len().max(WARM_PIECE), 0);
    let mut done = 0;
    while done < length {
        let piece = usize::try_from(length - done).unwrap_or(WARM_PIECE).min(WARM_PIECE);
        match handle.read_at(&mut scratch[..piece], offset.saturating_add(done))? {
            0 => break,
            read => done += read as u64,
        }
    }
    Ok(done)
}
