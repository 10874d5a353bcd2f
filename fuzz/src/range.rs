//! `Range` fields: every selected range lies within the representation, all together cost no more than it, and
//! the announced length is right.
//!
//! The first byte of an input picks the size, the rest is the field.

use wire::http::range::{ByteRange, Multipart, Ranges, evaluate};
use wire::http::range::{write_content_range, write_unsatisfied_range};
use wire::limits::RANGES_MAXIMUM;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/range"];

/// Fields of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"\x03bytes=0-499",
    b"\x03bytes=500-",
    b"\x03bytes=-500",
    b"\x03bytes=0-0,-1",
    b"\x03bytes=0-9,20-29, 5-25 ,,100-",
    b"\x00bytes=-1",
    b"\x05bytes=18446744073709551615-",
    b"\x04Bytes=9999999999999999999999-",
    b"\x03lines=1-2",
    b"\x03bytes=5-1",
];

/// Pieces of fields.
pub const WORDS: &[&[u8]] = &[
    b"bytes=",
    b"bytes",
    b"=",
    b"-",
    b",",
    b", ",
    b" ",
    b"\t",
    b"0",
    b"1",
    b"9",
    b"0-0",
    b"0-",
    b"-1",
    b"1405",
    b"1406",
    b"18446744073709551615",
    b"18446744073709551616",
    b"0-1,3-4,6-7",
    b"00000000000000000001-",
    b"*",
    b"+1-2",
];

const SIZES: [u64; 7] = [0, 1, 2, 1_406, u32::MAX as u64 + 1, u64::MAX - 1, u64::MAX];

/// Largest multipart bodies that are built to check their announced length.
const BUILT_BYTES_MAX: u64 = 4_096;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let Some((picked, field)) = data.split_first() else { return };
    let size = SIZES[usize::from(*picked) % SIZES.len()];
    match evaluate(field, size) {
        Ranges::Whole => {}
        Ranges::Unsatisfiable => {
            let mut text = Vec::new();
            write_unsatisfied_range(&mut text, size);
            assert_eq!(text, format!("bytes */{size}").into_bytes());
        }
        Ranges::One(range) => {
            assert_within(range, size);
            if let Some(expected) = plain(field, size) {
                assert_eq!(range, expected);
            }
        }
        Ranges::Many(ranges) => {
            assert!((2..=RANGES_MAXIMUM).contains(&ranges.len()));
            ranges.iter().for_each(|range| assert_within(*range, size));
            let apart = |pair: &[ByteRange]| pair[0].first + pair[0].length < pair[1].first;
            assert!(ranges.windows(2).all(apart), "{ranges:?} overlap or touch");
            assert_announced_length(&ranges, size);
        }
    }
}

fn assert_within(range: ByteRange, size: u64) {
    assert!(range.length > 0 && range.first < size, "{range:?} of {size}");
    assert!(range.length <= size - range.first, "{range:?} of {size}");
    let mut text = Vec::new();
    write_content_range(&mut text, range, size);
    let last = range.first + (range.length - 1);
    assert_eq!(text, format!("bytes {}-{last}/{size}", range.first).into_bytes());
}

/// The answer to `bytes=A-B` by the RFC's text, if the field is that simple.
fn plain(field: &[u8], size: u64) -> Option<ByteRange> {
    let (first, last) = std::str::from_utf8(field).ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || !digits(last) {
        return None;
    }
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && first < size)
        .then(|| ByteRange { first, length: last.min(size - 1) - first + 1 })
}

fn assert_announced_length(ranges: &[ByteRange], size: u64) {
    let frame = Multipart::new(7);
    let announced = frame.total_length(ranges, size, b"text/plain");
    let content: u64 = ranges.iter().map(|range| range.length).fold(0, u64::saturating_add);
    if content > BUILT_BYTES_MAX {
        return;
    }
    let mut body = Vec::new();
    for range in ranges {
        frame.part_head(*range, size, b"text/plain", &mut body);
        body.extend((0..range.length).map(|_| b'x'));
    }
    frame.closing(&mut body);
    assert_eq!(announced, body.len() as u64);
}
