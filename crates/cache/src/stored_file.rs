//! A stored answer as a file: a preamble, the record, the body, and a check sum of the body.
//!
//! Owns that layout, and what makes a file damaged. Both check sums begin with the label, so that a file under another
//! name, or with a body of another one, is damaged too. Reads nothing itself: the caller brings the bytes.
//!
//! The record has room to grow in a file whose body is not written again when it is validated.

use std::hash::{DefaultHasher, Hasher};

use wire::http::head::Fields;

use crate::key::AnswerKey;
use crate::label::Label;
use crate::limits::{FIRST_READ, RECORD_SIZE};
use crate::object::Object;
use crate::record;
use crate::time::Time;

const MAGIC: [u8; 8] = *b"VELOCA02";
/// The magic number, the lengths of the record and of the room for it, and its check sum.
const PREAMBLE_SIZE: usize = 24;
const TRAILER_SIZE: usize = 8;

/// The first bytes of a file.
pub fn file_head(label: &Label, record: &[u8], room: usize) -> Vec<u8> {
    let room = room.max(record.len());
    let mut head = Vec::with_capacity(PREAMBLE_SIZE + room);
    head.extend_from_slice(&MAGIC);
    for size in [record.len(), room] {
        // Both are below `RECORD_SIZE`, or the file is not read again.
        head.extend_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
    }
    let mut sum = FileSum::new(label);
    sum.add(record);
    head.extend_from_slice(&sum.bytes());
    head.extend_from_slice(record);
    head.resize(PREAMBLE_SIZE + room, 0);
    head
}

/// A check sum of what comes in parts.
#[derive(Debug)]
pub struct FileSum(DefaultHasher);

impl FileSum {
    /// That of nothing, in the file with this label.
    pub fn new(label: &Label) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(label.identity);
        hasher.write_u64(label.serial);
        Self(hasher)
    }

    /// Adds a part.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The last bytes of a file with this sum.
    pub fn bytes(&self) -> [u8; TRAILER_SIZE] {
        self.0.finish().to_le_bytes()
    }
}

/// It is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// A file that was found, without its body.
#[derive(Debug)]
pub struct StoredFile {
    label: Label,
    /// The bytes that were read of it, from its beginning.
    begun: Vec<u8>,
    record_size: usize,
    room: usize,
}

/// The relation of a file to a request.
#[derive(Debug)]
pub enum FileMatch {
    /// An answer to a request with another key.
    OtherKey,
    /// An answer to other requests for the same.
    OtherVariant,
    /// The answer, without its body.
    Answer(AnswerKey, Box<Object>),
}

impl StoredFile {
    /// Reads the beginning of the file with this label, which has its size. `read` fills a buffer from an offset.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn read(
        label: Label,
        mut read: impl FnMut(&mut [u8], u64) -> Result<(), Damaged>,
    ) -> Result<Self, Damaged> {
        let first = usize::try_from(label.size).unwrap_or(usize::MAX).min(FIRST_READ);
        let mut begun = vec![0; first];
        read(&mut begun, 0)?;
        let number = |at: usize| {
            let bytes = begun.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            let number = bytes.map(u32::from_le_bytes).ok_or(Damaged)?;
            usize::try_from(number).map_err(|_| Damaged)
        };
        let (record_size, room) = (number(8)?, number(12)?);
        let is_possible = record_size <= room && room <= RECORD_SIZE;
        let least = (PREAMBLE_SIZE + room + TRAILER_SIZE) as u64;
        if !begun.starts_with(&MAGIC) || !is_possible || least > label.size {
            return Err(Damaged);
        }
        let behind = PREAMBLE_SIZE + record_size;
        if begun.len() < behind {
            let known = begun.len();
            begun.resize(behind, 0);
            let rest = begun.get_mut(known..).ok_or(Damaged)?;
            read(rest, known as u64)?;
        }
        let file = Self { label, begun, record_size, room };
        let mut sum = FileSum::new(&label);
        sum.add(file.record());
        let is_whole = file.begun.get(16..PREAMBLE_SIZE) == Some(&sum.bytes());
        if is_whole { Ok(file) } else { Err(Damaged) }
    }

    /// The record.
    pub fn record(&self) -> &[u8] {
        self.begun.get(PREAMBLE_SIZE..PREAMBLE_SIZE + self.record_size).unwrap_or_default()
    }

    /// Bytes that a record may have here.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Its relation to a request with these fields, whose key has these [bytes](record::key_bytes).
    ///
    /// # Errors
    /// If its record is none.
    pub fn compare(
        &self,
        key: &[u8],
        request: &Fields<'_, '_>,
        now: Time,
    ) -> Result<FileMatch, Damaged> {
        if !self.record().starts_with(key) {
            return Ok(FileMatch::OtherKey);
        }
        let (key, object) = record::read(self.record(), now).ok_or(Damaged)?;
        Ok(if object.variant().matches(request) {
            FileMatch::Answer(key, Box::new(object))
        } else {
            FileMatch::OtherVariant
        })
    }

    /// Where the body is, and its length.
    pub fn body_at(&self) -> (u64, u64) {
        place_of_body(self.room, self.label.size)
    }

    /// The body, which has to be what was written. `read` as before.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn body(
        &self,
        mut read: impl FnMut(&mut [u8], u64) -> Result<(), Damaged>,
    ) -> Result<Vec<u8>, Damaged> {
        let (at, length) = self.body_at();
        let length = usize::try_from(length).map_err(|_| Damaged)?;
        let mut bytes = vec![0; length + TRAILER_SIZE];
        let known =
            usize::try_from(at).ok().and_then(|at| self.begun.get(at..)).unwrap_or_default();
        let known = known.get(..bytes.len()).unwrap_or(known);
        let (front, rest) = bytes.split_at_mut(known.len());
        front.copy_from_slice(known);
        read(rest, at + known.len() as u64)?;
        let trailer = bytes.split_off(length);
        let mut sum = FileSum::new(&self.label);
        sum.add(&bytes);
        if sum.bytes() == *trailer { Ok(bytes) } else { Err(Damaged) }
    }
}

/// Where the body of a file of this size is, behind so much room for its record, and its length.
pub fn place_of_body(room: usize, size: u64) -> (u64, u64) {
    let at = (PREAMBLE_SIZE + room) as u64;
    (at, size.saturating_sub(at + TRAILER_SIZE as u64))
}
