//! Room on the disk that only deletions use.
//!
//! A deletion needs pages: LMDB copies each page that it changes, and writes down which pages it frees. It reuses none
//! that a snapshot may see, and a snapshot can live long: that of a reply, of a checkpoint that is being written, of a
//! backup. So on a full disk something must be left for deletions. Owns a file next to the store's, whose blocks are
//! given back to the disk when a deletion needs them. Never decides that the disk is full.

#![expect(
    clippy::disallowed_types,
    reason = "the file stays in the table of the thread that opens the store"
)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;

use crate::file::open;
use crate::limits::{
    RESERVE, RESERVE_BLOCK, RESERVE_PIECE, RESERVE_SHARE_OF_DATA, RESERVE_SHARE_OF_DISK,
};

/// The name of the file.
const FILE: &str = "reserve";

/// The file whose blocks are the reserve.
#[derive(Clone, Debug)]
pub(crate) struct ReserveFile(Option<Arc<File>>);

impl ReserveFile {
    /// Opens the file. A store whose disk has no room for one is used without it.
    pub(crate) fn open(directory: &Path) -> Self {
        Self(open(&directory.join(FILE)).ok().map(Arc::new))
    }
}

/// The reserve, as a writer knows it.
#[derive(Debug)]
pub(crate) struct Reserve {
    file: ReserveFile,
    /// Bytes of the file.
    size: u64,
    /// Bytes of the file before some were given.
    before: u64,
    /// Bytes that the next call gives.
    piece: u64,
}

impl Reserve {
    pub(crate) fn new(file: ReserveFile) -> Self {
        let mut reserve = Self { file, size: 0, before: 0, piece: RESERVE_PIECE };
        reserve.look();
        reserve
    }

    /// Makes it as large as a store of so many bytes needs it, if the disk has much more room than that.
    pub(crate) fn keep_up(&mut self, data: u64) {
        let wanted = wanted(data);
        let Some(file) = self.file.0.as_ref().filter(|_| self.size < wanted) else { return };
        let free = fstatvfs(file).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        let most = free.saturating_add(self.size) / RESERVE_SHARE_OF_DISK;
        self.grow(wanted.min(most));
    }

    /// Gives a part back to the disk, each time a larger one. Returns whether there was any.
    pub(crate) fn give(&mut self) -> bool {
        // Another program may have given it.
        self.look();
        let Some(file) = self.file.0.as_ref().filter(|_| self.size > 0) else { return false };
        self.before = self.before.max(self.size);
        let is_given = file.set_len(self.size.saturating_sub(self.piece)).is_ok();
        self.piece = self.piece.saturating_mul(2);
        self.look();
        is_given
    }

    /// Takes back what was given and not used.
    pub(crate) fn take_back(&mut self) {
        let before = std::mem::take(&mut self.before);
        self.piece = RESERVE_PIECE;
        self.grow(before);
    }

    /// Makes the file so long, or as long as the disk allows.
    fn grow(&mut self, size: u64) {
        let mut piece = size.saturating_sub(self.size);
        while let Some(file) = self.file.0.as_ref().filter(|_| piece >= RESERVE_BLOCK) {
            match fallocate(file, FallocateFlags::empty(), self.size, piece) {
                Ok(()) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.file = ReserveFile(None),
                Err(_no_room) => piece /= 2,
            }
            self.look();
            piece = piece.min(size.saturating_sub(self.size));
        }
    }

    /// Learns the size of the file.
    fn look(&mut self) {
        let about = self.file.0.as_ref().and_then(|file| file.metadata().ok());
        self.size = about.map_or(0, |about| about.len());
    }
}

/// Bytes of the reserve of a store of so many bytes.
fn wanted(data: u64) -> u64 {
    // In steps, so that a file that grows page by page does not change it each time.
    (RESERVE + data / RESERVE_SHARE_OF_DATA).next_multiple_of(RESERVE_PIECE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_reservation_is_taken_back() {
        let directory =
            std::env::temp_dir().join(format!("velodrome-reserve-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let mut reserve = Reserve::new(ReserveFile::open(&directory));
        assert!(!reserve.give(), "there is none yet");
        reserve.keep_up(0);
        let whole = reserve.size;
        assert_eq!(whole, RESERVE);
        for given in [1, 3, 7] {
            assert!(reserve.give());
            assert_eq!(reserve.size, whole - given * RESERVE_PIECE);
        }
        while reserve.give() {}
        assert_eq!(reserve.size, 0);
        reserve.take_back();
        assert_eq!(reserve.size, whole);
        reserve.keep_up(RESERVE_SHARE_OF_DATA * RESERVE_PIECE);
        assert_eq!(reserve.size, whole + RESERVE_PIECE);
        assert_eq!(Reserve::new(ReserveFile::open(&directory)).size, reserve.size);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
