//! Blocks of fields as we write them (RFC 7541, 6).
//!
//! Owns which fields the peer is told to keep, so that they are one byte from then on: those that come a second time
//! after the first block, because many connections have only that one. Never keeps a field that is longer than it is
//! worth, and may forget all of them at any time.

use super::repeated::Repeated;
use super::table::{FIELD_OVERHEAD, Table};
use super::{huffman, integer, static_table};
use crate::limits::{
    HPACK_KEPT_BYTES, HPACK_KEPT_FIELD_BYTES, HPACK_KEPT_FIELDS, HPACK_TABLE_BYTES,
};

/// Whether a peer keeps a field in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// It keeps a field that has come before and is short enough.
    Add,
    /// It does not, because the field will hardly come again.
    Skip,
    /// Nobody must on the whole way, because the value is a secret that could be guessed from sizes (RFC 7541, 7.1.3).
    Never,
}

impl Indexing {
    /// The first bits of a literal field (RFC 7541, 6.2).
    const fn bits(self) -> u8 {
        match self {
            Self::Add => 0x40,
            Self::Skip => 0,
            Self::Never => 0x10,
        }
    }

    /// Bits of the index of its name.
    pub(super) const fn prefix_bits(self) -> u32 {
        match self {
            Self::Add => 6,
            Self::Skip | Self::Never => 4,
        }
    }
}

/// Writes the blocks of one connection, in the order in which they are sent.
///
/// ```
/// use wire::hpack::{Encoder, Indexing};
///
/// let (mut encoder, mut sizes) = (Encoder::new(), Vec::new());
/// for _ in 0..4 {
///     let mut block = Vec::new();
///     encoder.begin_block(&mut block);
///     encoder.status(200, &mut block);
///     encoder.encode("server", b"velodrome", Indexing::Add, &mut block);
///     sizes.push(block.len());
/// }
/// assert_eq!(sizes, [11, 11, 10, 2]);
/// ```
#[derive(Debug, Default)]
pub struct Encoder {
    kept: Option<Box<Kept>>,
    block: BlockNumber,
    /// Bytes of the peer's table, less those of the usual one, as the last block left it.
    lowered: u32,
    due: Option<Due>,
}

/// The block that is being written, since the beginning or since all fields were forgotten.
#[derive(Clone, Copy, Debug, Default)]
enum BlockNumber {
    #[default]
    None,
    First,
    Later,
}

/// The peer has announced other sizes of its table since the last block (RFC 7541, 4.2).
#[derive(Clone, Copy, Debug)]
struct Due {
    least: u32,
    last: u32,
}

/// The fields that the peer keeps: the newest ones of its table.
#[derive(Debug)]
struct Kept {
    table: Table,
    /// The marks of the last fields that were added, each at its number of all.
    marks: Ring,
    /// The marks of the last fields that were not in the table.
    passed: Ring,
    repeated: Repeated,
}

/// Numbers that fields are found by, the oldest replaced by the newest.
#[derive(Debug)]
struct Ring {
    marks: [u32; HPACK_KEPT_FIELDS],
    /// How many there ever were.
    count: usize,
}

const USUAL: u32 = HPACK_TABLE_BYTES as u32;

impl Encoder {
    /// An encoder for a new connection, which owns no memory yet.
    pub const fn new() -> Self {
        Self { kept: None, block: BlockNumber::None, lowered: 0, due: None }
    }

    /// The peer has announced this SETTINGS_HEADER_TABLE_SIZE. The next block begins with the size that we use of it.
    pub fn set_peer_table_bytes(&mut self, bytes: u32) {
        let last = bytes.min(USUAL);
        self.due = match self.due {
            None if last == USUAL - self.lowered => None,
            None => Some(Due { least: last, last }),
            Some(due) => Some(Due { least: due.least.min(last), last }),
        };
    }

    /// Begins a block: writes a size of the table that is due. Every block begins so.
    #[inline]
    pub fn begin_block(&mut self, out: &mut Vec<u8>) {
        self.block = match self.block {
            BlockNumber::None => BlockNumber::First,
            BlockNumber::First | BlockNumber::Later => BlockNumber::Later,
        };
        if let Some(due) = self.due.take() {
            self.announce(due, out);
        }
    }

    #[inline(never)]
    fn announce(&mut self, due: Due, out: &mut Vec<u8>) {
        if due.least < due.last {
            integer::write(out, 0x20, 5, due.least);
        }
        integer::write(out, 0x20, 5, due.last);
        self.lowered = USUAL - due.last;
        if let Some(kept) = &mut self.kept {
            kept.table.set_bound((due.least as usize).min(HPACK_KEPT_BYTES));
            kept.table.set_bound((due.last as usize).min(HPACK_KEPT_BYTES));
            kept.repeated.forget();
        }
    }

    /// Writes a whole block again, if it would be the same: `source` is that of the last one that
    /// [`end_block`](Self::end_block) was told of, and the peer still has all its fields.
    #[inline]
    pub fn repeat(&mut self, source: &[u8], out: &mut Vec<u8>) -> bool {
        if self.due.is_none()
            && let Some(block) = self.kept.as_ref().and_then(|kept| kept.repeated.of(source))
        {
            out.extend_from_slice(block);
            return true;
        }
        false
    }

    /// A block is complete: what it was written of, its fields with the status, and the block itself.
    #[inline]
    pub fn end_block(&mut self, source: &[u8], fields: usize, block: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.repeated.note(source, fields, block);
        }
    }

    /// Writes the status of an answer.
    #[inline]
    pub fn status(&mut self, code: u16, out: &mut Vec<u8>) {
        let index = match code {
            200 => 8,
            204 => 9,
            206 => 10,
            304 => 11,
            400 => 12,
            404 => 13,
            500 => 14,
            _ => {
                let digits = itoa::Buffer::new().format(code).to_owned();
                return self.encode(":status", digits.as_bytes(), Indexing::Add, out);
            }
        };
        integer::write(out, 0x80, 7, index);
    }

    /// Writes a field. Its name is in lower case (RFC 9113, 8.2).
    #[inline]
    pub fn encode(&mut self, name: &str, value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        self.encode_bytes(name.as_bytes(), value, indexing, out);
    }

    /// The same with a name that is bytes.
    #[inline]
    pub fn encode_bytes(
        &mut self,
        name: &[u8],
        value: &[u8],
        indexing: Indexing,
        out: &mut Vec<u8>,
    ) {
        let cost = name.len() + value.len() + FIELD_OVERHEAD;
        if indexing == Indexing::Add && cost <= HPACK_KEPT_FIELD_BYTES {
            return self.encode_known(name, value, out);
        }
        let indexing = if indexing == Indexing::Add { Indexing::Skip } else { indexing };
        literal(name, value, indexing, out);
    }

    /// Writes a field that the peer may have, or will have.
    fn encode_known(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        if name.first() == Some(&b':')
            && let Some(index) = static_table::index_of_field(name, value)
        {
            return integer::write(out, 0x80, 7, index);
        }
        if matches!(self.block, BlockNumber::First) {
            return literal(name, value, Indexing::Skip, out);
        }
        let bytes = ((USUAL - self.lowered) as usize).min(HPACK_KEPT_BYTES);
        let kept = self.kept.get_or_insert_with(|| Kept::new(bytes));
        let mark = mark(name, value);
        if let Some(number) = kept.find(mark, name, value) {
            return integer::write(out, 0x80, 7, (static_table::COUNT + 1 + number) as u32);
        }
        let is_added = kept.has_passed(mark) && kept.add(mark, name, value);
        literal(name, value, if is_added { Indexing::Add } else { Indexing::Skip }, out);
    }

    /// Forgets all fields and gives back the memory, for a connection that is idle. The peer keeps them, but their
    /// indices are not used any more.
    pub fn forget(&mut self) {
        (self.kept, self.block) = (None, BlockNumber::None);
    }

    /// Bytes of memory that it holds beside its own.
    pub fn held_bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.held_bytes())
    }
}

impl Kept {
    fn new(bytes: usize) -> Box<Self> {
        let (marks, passed) = (Ring::new(), Ring::new());
        Box::new(Self { table: Table::new(bytes), marks, passed, repeated: Repeated::default() })
    }

    fn held_bytes(&self) -> usize {
        size_of::<Self>() + self.table.held_bytes() + self.repeated.held_bytes()
    }

    /// The number of a field in the table.
    #[inline(always)]
    fn find(&self, mark: u32, name: &[u8], value: &[u8]) -> Option<usize> {
        let mut places = self.marks.places(mark);
        while places != 0 {
            let number = self.marks.age(places.trailing_zeros() as usize);
            if self.table.field(number) == Some((name, value)) {
                return Some(number);
            }
            places &= places - 1;
        }
        None
    }

    /// Whether a field came a short time ago. If not, it has from now on.
    fn has_passed(&mut self, mark: u32) -> bool {
        let has = self.passed.places(mark) != 0;
        if !has {
            self.passed.push(mark);
        }
        has
    }

    /// Adds a field, if the table has room for it at all. Fields that the peer keeps longer than we do are not used.
    fn add(&mut self, mark: u32, name: &[u8], value: &[u8]) -> bool {
        if name.len() + value.len() + FIELD_OVERHEAD > self.table.bound() {
            return false;
        }
        if self.table.len() == HPACK_KEPT_FIELDS {
            self.table.evict();
        }
        self.table.add(name, value);
        self.marks.push(mark);
        self.repeated.forget();
        true
    }
}

impl Ring {
    const fn new() -> Self {
        Self { marks: [0; HPACK_KEPT_FIELDS], count: 0 }
    }

    /// The places that have this mark, one bit each.
    #[inline(always)]
    fn places(&self, mark: u32) -> u32 {
        let bits = self.marks.iter().enumerate().map(|(at, own)| u32::from(*own == mark) << at);
        bits.fold(0, |places, bit| places | bit)
    }

    /// How many marks came after the one at this place.
    #[inline(always)]
    fn age(&self, place: usize) -> usize {
        self.count.wrapping_sub(place + 1) % HPACK_KEPT_FIELDS
    }

    fn push(&mut self, mark: u32) {
        self.marks[self.count % HPACK_KEPT_FIELDS] = mark;
        self.count = self.count.wrapping_add(1);
    }
}

const _: () =
    assert!(HPACK_KEPT_FIELDS == 32, "the places are the bits of a number, and wrap with it");

/// A number by which a field is found. Two fields may have the same.
#[inline(always)]
fn mark(name: &[u8], value: &[u8]) -> u32 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (name.len() as u64) << 32 | value.len() as u64;
    for text in [name, value] {
        let (words, rest) = text.as_chunks::<8>();
        for word in words {
            state = (state.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(MIX);
        }
        // The last word may overlap the one before it.
        let rest = match (text.last_chunk(), text.last_chunk(), text.first_chunk()) {
            (Some(last), ..) => u64::from_le_bytes(*last),
            (None, Some(last), Some(first)) => {
                u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
            }
            _ => rest.iter().fold(0, |rest, byte| rest << 8 | u64::from(*byte)),
        };
        state = (state.rotate_left(5) ^ rest).wrapping_mul(MIX);
    }
    (state >> 32) as u32
}

/// Writes a field that the peer does not have.
fn literal(name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
    match static_table::index_of_name(name) {
        Some(index) => integer::write(out, indexing.bits(), indexing.prefix_bits(), index),
        None => {
            out.push(indexing.bits());
            string(name, out);
        }
    }
    string(value, out);
}

/// Writes a string, in Huffman's code if that is shorter (RFC 7541, 5.2).
fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_size(text);
    // A string is a part of a head, whose size has a bound far below 32 bits.
    if coded < text.len() {
        integer::write(out, 0x80, 7, coded as u32);
        huffman::encode(text, out);
    } else {
        integer::write(out, 0, 7, text.len() as u32);
        out.extend_from_slice(text);
    }
}
