//! Range requests (RFC 9110 section 14): which bytes are meant, and the text that goes with them.
//!
//! Owns the `Range` and `Content-Range` fields and the frame of `multipart/byteranges`. Never
//! decides whether a range may be used at all (that is `conditional`), never touches the content.

use std::ops::Deref;

use crate::escape::{hex_high, hex_low};
use crate::limits::RANGES_MAXIMUM;

/// The result of a `Range` field for a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "moved once a request, and only for those with a Range field; a box would allocate"
)]
pub enum Ranges {
    /// 200: the field is malformed, has an unknown unit or too many ranges, or requests something that
    /// `Content-Range` cannot express. It is ignored.
    Whole,
    /// 416: well-formed, but no range begins inside the representation. Answer with [`write_unsatisfied_range`].
    Unsatisfiable,
    /// 206 with `Content-Range`.
    One(ByteRange),
    /// 206 with `multipart/byteranges`: at least two ranges that do not touch.
    Many(RangeList),
}

/// Consecutive bytes of a representation. [`evaluate`] never returns an empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteRange {
    /// The first byte, counted from 0.
    pub first: u64,
    /// The number of bytes.
    pub length: u64,
}

impl ByteRange {
    /// The first byte after the range.
    pub const fn end(self) -> u64 {
        self.first.saturating_add(self.length)
    }
}

/// Up to [`RANGES_MAXIMUM`] ranges, without an allocation.
#[derive(Clone, Copy, Debug)]
pub struct RangeList {
    ranges: [ByteRange; RANGES_MAXIMUM],
    count: usize,
}

impl RangeList {
    const EMPTY: Self =
        Self { ranges: [ByteRange { first: 0, length: 0 }; RANGES_MAXIMUM], count: 0 };

    /// Does nothing if the list is full; [`evaluate`] counts before it adds.
    fn push(&mut self, range: ByteRange) {
        if let Some(place) = self.ranges.get_mut(self.count) {
            *place = range;
            self.count += 1;
        }
    }

    /// Sorts the ranges and merges those that overlap or touch, unless they are already
    /// sorted and separate.
    fn merge(&mut self) {
        let ranges = &mut self.ranges[..self.count];
        if ranges.windows(2).all(|pair| pair[0].end() < pair[1].first) {
            return;
        }
        ranges.sort_unstable();
        let mut merged = Self::EMPTY;
        let mut ranges = ranges.iter().copied();
        let Some(mut open) = ranges.next() else { return };
        for range in ranges {
            if range.first <= open.end() {
                open.length = open.end().max(range.end()) - open.first;
            } else {
                merged.push(open);
                open = range;
            }
        }
        merged.push(open);
        *self = merged;
    }
}

impl Deref for RangeList {
    type Target = [ByteRange];

    fn deref(&self) -> &[ByteRange] {
        &self.ranges[..self.count]
    }
}

impl PartialEq for RangeList {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for RangeList {}

/// Evaluates the value of a `Range` field for a representation of `size` bytes.
///
/// Ranges that overlap, touch or descend are sorted and merged (RFC 9110 section 15.3.7.2), so
/// together they never request more than `size` bytes. Ranges that begin at or after the end are
/// dropped; if none is left, the answer is 416. Section 14.1.2 makes a suffix of an empty representation
/// satisfiable, but `Content-Range` cannot express it, so the whole is sent.
pub fn evaluate(field: &[u8], size: u64) -> Ranges {
    let Some(set) = byte_range_set(field) else { return Ranges::Whole };
    let mut list = RangeList::EMPTY;
    let mut specifiers = 0;
    for specifier in set.split(|&byte| byte == b',') {
        let specifier = trim_blanks(specifier);
        // RFC 9110 section 5.6.1.2: empty list elements are ignored.
        if specifier.is_empty() {
            continue;
        }
        specifiers += 1;
        if specifiers > RANGES_MAXIMUM {
            return Ranges::Whole;
        }
        match satisfy(specifier, size) {
            Satisfied::Range(range) => list.push(range),
            Satisfied::OutOfReach => {}
            Satisfied::Malformed | Satisfied::EmptySuffixOfNothing => return Ranges::Whole,
        }
    }
    if specifiers == 0 {
        return Ranges::Whole;
    }
    list.merge();
    match *list {
        [] => Ranges::Unsatisfiable,
        [range] => Ranges::One(range),
        _ => Ranges::Many(list),
    }
}

/// The text after `bytes=`; unit names are case-insensitive (RFC 9110 section 14.1).
fn byte_range_set(field: &[u8]) -> Option<&[u8]> {
    let (unit, set) = field.split_at_checked(b"bytes=".len())?;
    unit.eq_ignore_ascii_case(b"bytes=").then_some(set)
}

enum Satisfied {
    Range(ByteRange),
    OutOfReach,
    Malformed,
    EmptySuffixOfNothing,
}

fn satisfy(specifier: &[u8], size: u64) -> Satisfied {
    let Some(dash) = memchr::memchr(b'-', specifier) else { return Satisfied::Malformed };
    let (first, last) = (&specifier[..dash], &specifier[dash + 1..]);
    match (first.is_empty(), last.is_empty()) {
        (true, true) => Satisfied::Malformed,
        (true, false) => match parse_position(last) {
            None => Satisfied::Malformed,
            Some(0) => Satisfied::OutOfReach,
            Some(_) if size == 0 => Satisfied::EmptySuffixOfNothing,
            Some(suffix) => {
                let length = suffix.min(size);
                Satisfied::Range(ByteRange { first: size - length, length })
            }
        },
        (false, true) => match parse_position(first) {
            None => Satisfied::Malformed,
            Some(first) => from_first_to(first, u64::MAX, size),
        },
        (false, false) => match (parse_position(first), parse_position(last)) {
            (Some(first), Some(last)) if first <= last => from_first_to(first, last, size),
            _ => Satisfied::Malformed,
        },
    }
}

fn from_first_to(first: u64, last: u64, size: u64) -> Satisfied {
    if first >= size {
        return Satisfied::OutOfReach;
    }
    // `first < size`, so `size - 1` exists and is not less than `first`.
    let last = last.min(size - 1);
    Satisfied::Range(ByteRange { first, length: last - first + 1 })
}

/// `1*DIGIT`. A number that does not fit is far beyond any end, and saturates.
fn parse_position(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(value.saturating_mul(10).saturating_add(digit))
    })
}

fn trim_blanks(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// Writes the value of `Content-Range` for a 206 or a part of it: `bytes 0-499/1234`.
pub fn write_content_range(out: &mut Vec<u8>, range: ByteRange, size: u64) {
    out.extend_from_slice(b"bytes ");
    write_number(out, range.first);
    out.push(b'-');
    write_number(out, range.end().saturating_sub(1));
    out.push(b'/');
    write_number(out, size);
}

/// Writes the value of `Content-Range` for a 416: `bytes */1234`.
pub fn write_unsatisfied_range(out: &mut Vec<u8>, size: u64) {
    out.extend_from_slice(b"bytes */");
    write_number(out, size);
}

fn write_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

const BOUNDARY_LENGTH: usize = 32;

/// The frame of a `multipart/byteranges` body (RFC 9110 section 14.6).
///
/// The body is, for each range, [`part_head`](Self::part_head) and the bytes of the range, and then
/// [`closing`](Self::closing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multipart {
    boundary: [u8; BOUNDARY_LENGTH],
}

impl Multipart {
    /// `unique` becomes the boundary. It must be unpredictable: a client that knows it in advance could put
    /// it into the content.
    pub fn new(unique: u128) -> Self {
        let mut boundary = [0; BOUNDARY_LENGTH];
        for (place, byte) in boundary.chunks_exact_mut(2).zip(unique.to_be_bytes()) {
            place.copy_from_slice(&[hex_high(byte), hex_low(byte)]);
        }
        Self { boundary }
    }

    /// Writes the value of the `Content-Type` field of the whole answer.
    pub fn content_type(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"multipart/byteranges; boundary=");
        out.extend_from_slice(&self.boundary);
    }

    /// Writes the text before the bytes of `range`.
    ///
    /// `content_type` is the type of the representation and must be a valid field value.
    pub fn part_head(&self, range: ByteRange, size: u64, content_type: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n--");
        out.extend_from_slice(&self.boundary);
        out.extend_from_slice(b"\r\nContent-Type: ");
        out.extend_from_slice(content_type);
        out.extend_from_slice(b"\r\nContent-Range: ");
        write_content_range(out, range, size);
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// Writes the text after the last range.
    pub fn closing(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n--");
        out.extend_from_slice(&self.boundary);
        out.extend_from_slice(b"--\r\n");
    }

    /// The length of the whole body, for `Content-Length`.
    pub fn total_length(&self, ranges: &[ByteRange], size: u64, content_type: &[u8]) -> u64 {
        let fixed = b"\r\n--\r\nContent-Type: \r\nContent-Range: bytes -/\r\n\r\n".len();
        let head = fixed + BOUNDARY_LENGTH + content_type.len();
        let closing = b"\r\n----\r\n".len() + BOUNDARY_LENGTH;
        ranges.iter().fold(closing as u64, |total, range| {
            let numbers =
                digits(range.first) + digits(range.end().saturating_sub(1)) + digits(size);
            total.saturating_add(head as u64 + numbers).saturating_add(range.length)
        })
    }
}

/// The number of decimal digits.
fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}
