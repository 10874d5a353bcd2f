//! A file with a stored answer: a preamble, the record, the body, and a check sum of the body.
//!
//! Owns that layout, and what makes a file damaged. Never decides which file is read.
//!
//! The record has room to grow in a file whose body is not written again when it is validated.

use std::hash::{DefaultHasher, Hasher};

use cache::record;
use sys::file::{FileHandle, FileKind};

use super::limits::CACHE_RECORD_SIZE;

const MAGIC: [u8; 8] = *b"VELOCA01";
/// The magic number, the lengths of the record and of the room for it, and its check sum.
const PREAMBLE_SIZE: usize = 24;
const TRAILER_SIZE: u64 = 8;
/// Bytes that are read at first: a usual record, and perhaps its body.
const FIRST_READ: usize = 16 * 1024;

/// Bytes by which the record of a long body may grow when it is validated.
pub(super) const ROOM_FOR_LATER: usize = 1024;

/// The first bytes of a file.
pub(super) fn head(record: &[u8], room: usize) -> Vec<u8> {
    let room = room.max(record.len());
    let mut head = Vec::with_capacity(PREAMBLE_SIZE + room);
    head.extend_from_slice(&MAGIC);
    for size in [record.len(), room] {
        // Both are below `CACHE_RECORD_SIZE`, or the file is not read again.
        head.extend_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
    }
    head.extend_from_slice(&record::number_of(record).to_le_bytes());
    head.extend_from_slice(record);
    head.resize(PREAMBLE_SIZE + room, 0);
    head
}

/// The check sum of a body that comes in parts.
#[derive(Debug, Default)]
pub(super) struct Sum(DefaultHasher);

impl Sum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(super) fn trailer(&self) -> [u8; TRAILER_SIZE as usize] {
        self.0.finish().to_le_bytes()
    }
}

/// A file that was found, without its body.
#[derive(Debug)]
pub(super) struct Opened {
    handle: FileHandle,
    /// The bytes that were read of it, from its beginning.
    begun: Vec<u8>,
    record_size: usize,
    room: usize,
    size: u64,
}

/// It is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damaged;

impl Opened {
    /// Reads the beginning of a file that has to be of this size.
    pub(super) fn read(handle: FileHandle, size: u64) -> Result<Self, Damaged> {
        let found = handle.stat().map_err(|_| Damaged)?;
        if found.kind != FileKind::Regular || found.size != size {
            return Err(Damaged);
        }
        let first = usize::try_from(size).unwrap_or(usize::MAX).min(FIRST_READ);
        let mut begun = vec![0; first];
        read_exactly(&handle, &mut begun, 0)?;
        let number = |at: usize| {
            let bytes = begun.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            let number = bytes.map(u32::from_le_bytes).ok_or(Damaged)?;
            usize::try_from(number).map_err(|_| Damaged)
        };
        let (record_size, room) = (number(8)?, number(12)?);
        let body_at = (PREAMBLE_SIZE + room) as u64;
        let is_possible = record_size <= room && room <= CACHE_RECORD_SIZE;
        if !begun.starts_with(&MAGIC) || !is_possible || body_at + TRAILER_SIZE > size {
            return Err(Damaged);
        }
        let behind = PREAMBLE_SIZE + record_size;
        if begun.len() < behind {
            let known = begun.len();
            begun.resize(behind, 0);
            let rest = begun.get_mut(known..).ok_or(Damaged)?;
            read_exactly(&handle, rest, known as u64)?;
        }
        let opened = Self { handle, begun, record_size, room, size };
        let sum = opened.begun.get(16..PREAMBLE_SIZE).and_then(|sum| sum.try_into().ok());
        let is_whole = sum.map(u64::from_le_bytes) == Some(record::number_of(opened.record()));
        if is_whole { Ok(opened) } else { Err(Damaged) }
    }

    pub(super) fn record(&self) -> &[u8] {
        self.begun.get(PREAMBLE_SIZE..PREAMBLE_SIZE + self.record_size).unwrap_or_default()
    }

    /// Bytes that a record may have here.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Where the body is, and its length.
    pub(super) fn body_at(&self) -> (u64, u64) {
        place_of_body(self.room, self.size)
    }

    /// The body, which has to be what was written.
    pub(super) fn body(&self) -> Result<Vec<u8>, Damaged> {
        let (at, length) = self.body_at();
        let length = usize::try_from(length).map_err(|_| Damaged)?;
        let mut bytes = vec![0; length + TRAILER_SIZE as usize];
        let known =
            usize::try_from(at).ok().and_then(|at| self.begun.get(at..)).unwrap_or_default();
        let known = known.get(..bytes.len()).unwrap_or(known);
        let (front, rest) = bytes.split_at_mut(known.len());
        front.copy_from_slice(known);
        read_exactly(&self.handle, rest, at + known.len() as u64)?;
        let trailer = bytes.split_off(length);
        let mut sum = Sum::default();
        sum.add(&bytes);
        if sum.trailer() == *trailer { Ok(bytes) } else { Err(Damaged) }
    }
}

/// Where the body of a file of this size is, behind so much room for its record, and its length.
pub(super) fn place_of_body(room: usize, size: u64) -> (u64, u64) {
    let at = (PREAMBLE_SIZE + room) as u64;
    (at, size.saturating_sub(at + TRAILER_SIZE))
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
