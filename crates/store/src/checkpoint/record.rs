//! The records of checkpoints: their format, and their offsets in the file `checkpoint`.
//!
//! Owns the format of a record, and of LMDB's meta page as far as it is needed. Writes nothing to
//! the store's file except its meta pages, when it restores them.

#![expect(
    clippy::disallowed_types,
    reason = "the file stays in the table of the thread that opens the store"
)]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};

use crate::checksum::{sum, word};

/// Bytes of LMDB's meta page up to the transaction: a page header of 16 bytes, then `MDB_meta` (mdb.c).
const META: usize = 152;

/// Offsets in the meta page: magic number, page size, last page and transaction.
const META_MAGIC: usize = 16;
const META_PAGE_SIZE: usize = 40;
const META_LAST_PAGE: usize = 136;
const META_TRANSACTION: usize = 144;

/// LMDB's magic number.
const MAGIC_OF_META: u32 = 0xBEEF_C0DE;

/// The magic number of a record.
const MAGIC: [u8; 8] = *b"velochk1";

/// Bytes of a record: one sector, which a disk writes completely or not at all.
const RECORD: usize = 512;

/// Offsets of the two records: on separate pages, so that damage to one spares the other.
const PLACES: [u64; 2] = [0, 4096];

/// Bytes of a boot id.
pub(super) const BOOT: usize = 36;

/// A meta page of the store's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta([u8; META]);

impl Meta {
    /// Reads both meta pages of a file; `None` for a page that is not one.
    pub(super) fn of(data: &File) -> io::Result<[Option<Self>; 2]> {
        let Some(first) = Self::at(data, 0)? else { return Ok([None, None]) };
        let second = Self::at(data, first.page_size())?;
        Ok([Some(first), second])
    }

    fn at(data: &File, place: u64) -> io::Result<Option<Self>> {
        let mut bytes = [0; META];
        match data.read_exact_at(&mut bytes, place) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let meta = Self(bytes);
        let is_one = meta.half(META_MAGIC) == MAGIC_OF_META && meta.page_size() >= RECORD as u64;
        Ok(is_one.then_some(meta))
    }

    /// Writes it to both places. LMDB uses the newer one, and overwrites the older one with the next commit.
    pub(super) fn restore(&self, data: &File) -> io::Result<()> {
        for number in [0, 1] {
            let mut bytes = self.0;
            bytes[..8].copy_from_slice(&u64::to_ne_bytes(number));
            data.write_all_at(&bytes, number * self.page_size())?;
        }
        data.sync_all()
    }

    /// The transaction that wrote the page.
    pub(super) fn transaction(&self) -> u64 {
        word(&self.0, META_TRANSACTION)
    }

    /// The size of the file in bytes, up to the last page of the tree.
    pub(super) fn size(&self) -> u64 {
        let pages = word(&self.0, META_LAST_PAGE).saturating_add(1);
        pages.saturating_mul(self.page_size())
    }

    fn page_size(&self) -> u64 {
        u64::from(self.half(META_PAGE_SIZE))
    }

    fn half(&self, at: usize) -> u32 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |half| u32::from_ne_bytes(*half))
    }
}

/// A state of the file that is completely on disk and stays there. Plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The boot id when it was recorded: until the next boot the file is newer and complete.
    pub(crate) boot: [u8; BOOT],
    /// The inode of the file.
    pub(crate) inode: u64,
    /// The meta page of its tree.
    pub(crate) meta: Meta,
}

/// A record. Of the two in the file, the one with the higher number is valid. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) number: u64,
    /// `None` if the file is complete without a checkpoint.
    pub(crate) saved: Option<Saved>,
}

impl Record {
    /// Reads the valid record; the default if the file has none.
    pub(super) fn newest(records: &File) -> io::Result<Self> {
        let mut newest = Self::default();
        for place in PLACES {
            let mut bytes = [0; RECORD];
            match records.read_exact_at(&mut bytes, place) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
                Err(error) => return Err(error),
            }
            // A record whose write was cut off has a wrong checksum.
            let record = Self::decode(&bytes).unwrap_or_default();
            if record.number > newest.number {
                newest = record;
            }
        }
        Ok(newest)
    }

    /// Allocates the space of both records, so that a checkpoint can be recorded on a full disk.
    pub(super) fn reserve(records: &File) {
        let size = PLACES[1] + RECORD as u64;
        // If this fails or is not supported, the space is allocated by the first writes.
        let _no_room = fallocate(records, FallocateFlags::empty(), 0, size);
    }

    /// Writes the record over the older one, and waits for the disk.
    pub(super) fn write(&self, records: &File) -> io::Result<()> {
        let place = if self.number.is_multiple_of(2) { PLACES[0] } else { PLACES[1] };
        records.write_all_at(&self.encode(), place)?;
        records.sync_data()
    }

    fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&MAGIC);
        put(&self.number.to_ne_bytes());
        if let Some(saved) = &self.saved {
            put(&saved.inode.to_ne_bytes());
            put(&saved.boot);
            put(&saved.meta.0);
        }
        let sum = sum(&bytes[..RECORD - 8]);
        bytes[RECORD - 8..].copy_from_slice(&sum.to_ne_bytes());
        bytes
    }

    fn decode(bytes: &[u8; RECORD]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        if word(bytes, RECORD - 8) != sum(&bytes[..RECORD - 8]) {
            return None;
        }
        let (number, rest) = rest.split_first_chunk()?;
        let (inode, rest) = rest.split_first_chunk()?;
        let (boot, rest) = rest.split_first_chunk()?;
        let inode = u64::from_ne_bytes(*inode);
        let saved = Saved { boot: *boot, inode, meta: Meta(*rest.first_chunk()?) };
        // Inode 0 does not exist.
        let saved = (inode != 0).then_some(saved);
        Some(Self { number: u64::from_ne_bytes(*number), saved })
    }
}
