//! HPACK: a slow decoder reads the same fields or refuses the same block, and what was read is written and read again.

mod plain;

use wire::hpack::{Decoder, Encoder, Indexing};
use wire::limits::HPACK_TABLE_BYTES;

use plain::PlainDecoder;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/hpack"];

/// Blocks, each behind its length: those of RFC 7541, appendix C, and changes of the table.
pub const SEEDS: &[&[u8]] = &[
    b"\x1a\x40\x0acustom-key\x0dcustom-header\x0e\x04\x0c/sample/path\x01\x82\x01\xbe",
    b"\x10\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff\
      \x0c\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf",
    b"\x03\x3f\xe1\x01\x36\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\
      \x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\
      \xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3\x08\x48\x83\x64\x0e\xff\xc1\
      \xc0\xbf",
    b"\x08\x20\x3f\x21\x40\x01a\x01b\x02\xbe\xbe\x06\x1f\x28\x01c\x10\x00",
    b"\x0d\x7e\x08nnnnnnnn\x40\x00\x00",
];

/// Pieces of blocks.
pub const WORDS: &[&[u8]] = &[
    b"\x82",
    b"\xbe",
    b"\xbf",
    b"\xff\x00",
    b"\x40\x01a\x01b",
    b"\x7e\x01c",
    b"\x20",
    b"\x3f\xe1\x1f",
    b"\x3f\x45",
    b"\x81\xff",
    b"\x84\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let mut decoder = Decoder::new(HPACK_TABLE_BYTES);
    let mut plain = PlainDecoder::new(HPACK_TABLE_BYTES);
    let (mut encoder, mut mirror) = (Encoder::new(), Decoder::new(HPACK_TABLE_BYTES));
    let mut rest = data;
    while let Some((length, after)) = rest.split_first() {
        let (block, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let mut fields = Vec::new();
        let read = decoder.decode(block, |name, value| {
            fields.push((name.to_vec(), value.to_vec()));
        });
        let (expected, is_valid) = plain.decode(block);
        assert_eq!((&fields, read.is_ok()), (&expected, is_valid), "{}", block.escape_ascii());
        assert!(decoder.held_bytes() <= 4 * HPACK_TABLE_BYTES);
        check_round_trip(&mut encoder, &mut mirror, &fields, *length);
        if read.is_err() {
            break;
        }
    }
}

/// Writes the fields whose names are text, and reads them again.
fn check_round_trip(
    encoder: &mut Encoder,
    mirror: &mut Decoder,
    fields: &[(Vec<u8>, Vec<u8>)],
    choice: u8,
) {
    match choice {
        0..8 => encoder.forget(),
        8..32 => encoder.set_peer_table_bytes(u32::from(choice) * 40),
        32..40 => encoder.set_peer_table_bytes(u32::MAX),
        _ => {}
    }
    let indexing = [Indexing::Add, Indexing::Skip, Indexing::Add, Indexing::Never];
    let mut block = Vec::new();
    let mut written = Vec::new();
    encoder.begin_block(&mut block);
    for ((name, value), indexing) in fields.iter().zip(indexing.into_iter().cycle()) {
        if let Ok(text) = str::from_utf8(name) {
            encoder.encode(text, value, indexing, &mut block);
            written.push((name.clone(), value.clone()));
        }
    }
    let mut read = Vec::new();
    mirror
        .decode(&block, |name, value| read.push((name.to_vec(), value.to_vec())))
        .expect("an encoder writes HPACK");
    assert_eq!(read, written);
}
