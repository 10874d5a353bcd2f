//! The files of a directory, as they are read.
//!
//! Owns reading. `cache::StoredFile` has the layout, and says what is damaged.

use cache::{Damaged, Label, StoredFile};
use sys::file::{FileHandle, FileKind};

/// Bytes by which the record of a long body may grow when it is validated.
pub(super) const ROOM_FOR_LATER: usize = 1024;

/// A file that was found, without its body.
#[derive(Debug)]
pub(super) struct Opened {
    handle: FileHandle,
    stored: StoredFile,
}

impl Opened {
    /// Reads the beginning of the file with this label.
    pub(super) fn read(handle: FileHandle, label: Label) -> Result<Self, Damaged> {
        let found = handle.stat().map_err(|_| Damaged)?;
        if found.kind != FileKind::Regular || found.size != label.size {
            return Err(Damaged);
        }
        let stored =
            StoredFile::read(label, |buffer, offset| read_exactly(&handle, buffer, offset))?;
        Ok(Self { handle, stored })
    }

    pub(super) fn stored(&self) -> &StoredFile {
        &self.stored
    }

    /// The body, which has to be what was written.
    pub(super) fn body(&self) -> Result<Vec<u8>, Damaged> {
        self.stored.body(|buffer, offset| read_exactly(&self.handle, buffer, offset))
    }
}

fn read_exactly(handle: &FileHandle, buffer: &mut [u8], offset: u64) -> Result<(), Damaged> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match handle.read_at(rest, offset + filled as u64) {
            Ok(0) | Err(_) => return Err(Damaged),
            Ok(count) => filled += count,
        }
    }
    Ok(())
}
