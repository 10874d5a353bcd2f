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

/// Bytes of LMDB's meta page that say which tree it is: a head of 16, then `MDB_meta` (mdb.c).
const META: usize = 152;

/// Where in it the magic number, the bytes of a page, the last page and the transaction are.
const META_MAGIC: usize = 16;
const META_PAGE_SIZE: usize = 40;
const META_LAST_PAGE: usize = 136;
const META_TRANSACTION: usize = 144;

/// What LMDB writes at the begin of its meta page.
const MAGIC_OF_META: u32 = 0xBEEF_C0DE;

/// What a record begins with.
const MAGIC: [u8; 8] = *b"velochk1";

/// Bytes of a record: within one sector, which a disk writes whole or not at all.
const RECORD: usize = 512;

/// Where the two records are: in pages of their own, so that what happens to one leaves the other alone.
const PLACES: [u64; 2] = [0, 4096];

/// Bytes of the kernel's number of its start.
pub(super) const BOOT: usize = 36;

/// One of the two meta pages of the store's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta([u8; META]);

impl Meta {
    /// The two of a file; those that are none are left out.
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

    /// Makes it the only one of a file, in both places. LMDB takes the newer one, and writes the next into the place of the older.
    pub(super) fn restore(&self, data: &File) -> io::Result<()> {
        for number in [0, 1] {
            let mut bytes = self.0;
            bytes[..8].copy_from_slice(&u64::to_ne_bytes(number));
            data.write_all_at(&bytes, number * self.page_size())?;
        }
        data.sync_all()
    }

    /// The transaction that wrote it.
    pub(super) fn transaction(&self) -> u64 {
        word(&self.0, META_TRANSACTION)
    }

    /// Bytes of the file with the last page of the tree.
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

/// A state of the store's file that is on the disk, whatever is written into the file after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Saved {
    /// The start of the kernel in which it was made: as long as that runs, the file is newer, and whole.
    pub(super) boot: [u8; BOOT],
    /// The inode of the file.
    pub(super) inode: u64,
    /// Its tree.
    pub(super) meta: Meta,
}

/// A record. The one with the higher number counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) number: u64,
    /// `None`: the file is whole as it is.
    pub(super) saved: Option<Saved>,
}

impl Record {
    /// The one that counts, of a file that may be empty.
    pub(super) fn newest(records: &File) -> io::Result<Self> {
        let mut newest = Self::default();
        for place in PLACES {
            let mut bytes = [0; RECORD];
            match records.read_exact_at(&mut bytes, place) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
                Err(error) => return Err(error),
            }
            // One that was cut off while it was written does not count.
            let record = Self::decode(&bytes).unwrap_or_default();
            if record.number > newest.number {
                newest = record;
            }
        }
        Ok(newest)
    }

    /// Takes the room of all records, so that a checkpoint can be made on a disk that is full, and room given back by it.
    pub(super) fn reserve(records: &File) {
        let size = PLACES[1] + RECORD as u64;
        // Where there is none, or the file system cannot do it, it is taken when it is needed.
        let _no_room = fallocate(records, FallocateFlags::empty(), 0, size);
    }

    /// Writes it where the one before the newest is, and waits for the disk.
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
        // No file has the inode 0.
        let saved = (inode != 0).then_some(saved);
        Some(Self { number: u64::from_ne_bytes(*number), saved })
    }
}
