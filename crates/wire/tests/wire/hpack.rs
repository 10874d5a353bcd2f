//! HPACK: what is refused, what is kept, and that both sides stay in step whatever is sent.

use proptest::prelude::*;
use wire::hpack::{Decoder, Encoder, HpackError, Indexing};
use wire::limits::{HPACK_KEPT_FIELD_BYTES, HPACK_KEPT_FIELDS, HPACK_TABLE_BYTES};

/// Bytes from hexadecimal digits, with blanks anywhere.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// The fields of a block, as `name: value`.
pub(crate) fn fields(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, HpackError> {
    let mut seen = Vec::new();
    decoder.decode(block, |name, value| {
        seen.push(format!("{}: {}", name.escape_ascii(), value.escape_ascii()));
    })?;
    Ok(seen)
}

pub(crate) fn fresh() -> Decoder {
    Decoder::new(HPACK_TABLE_BYTES)
}

pub(crate) fn assert_blocks(decoder: &mut Decoder, blocks: &[(&str, &[&str])]) {
    for (block, expected) in blocks {
        assert_eq!(fields(decoder, &hex(block)).unwrap(), *expected);
    }
}

/// RFC 7541, 4.4: the name of a new field may be that of the field which it drives out.
#[test]
fn a_field_may_drive_out_the_one_that_lends_its_name() {
    let mut decoder = fresh();
    let (name, value) = ("n".repeat(100), "v".repeat(20));
    // A table of 160 bytes has room for one of them.
    let mut block = hex("3f 81 01");
    block.extend(hex("40 64"));
    block.extend(name.bytes());
    block.extend(hex("01 61"));
    assert_eq!(fields(&mut decoder, &block), Ok(vec![format!("{name}: a")]));
    let mut block = hex("7e 14");
    block.extend(value.bytes());
    block.push(0xbe);
    let field = format!("{name}: {value}");
    assert_eq!(fields(&mut decoder, &block), Ok(vec![field.clone(), field]));
    // A field larger than the table empties it.
    let mut block = hex("7e 7f 01");
    block.extend([b'v'; 128]);
    assert_eq!(fields(&mut decoder, &block).map(|fields| fields.len()), Ok(1));
    assert_eq!(fields(&mut decoder, &hex("be")), Err(HpackError::UnknownIndex));
}

#[test]
fn a_block_that_is_not_hpack_is_refused() {
    for (block, error) in [
        ("80", HpackError::UnknownIndex),
        ("be", HpackError::UnknownIndex),
        ("7e 01 61", HpackError::UnknownIndex),
        ("0f 2f 01 61", HpackError::UnknownIndex),
        ("ff", HpackError::Truncated),
        ("ff 80", HpackError::Truncated),
        ("ff 80 80 80 80 10", HpackError::IntegerTooLarge),
        ("ff ff ff ff ff ff 00", HpackError::IntegerTooLarge),
        ("40", HpackError::Truncated),
        ("40 01", HpackError::Truncated),
        ("40 01 61", HpackError::Truncated),
        ("40 01 61 02 62", HpackError::Truncated),
        ("00 ff ff ff ff ff 0f", HpackError::IntegerTooLarge),
        ("00 7f ff ff ff ff 0e", HpackError::Truncated),
        ("00 81 00 01 61", HpackError::Padding),
        ("00 84 ff ff ff ff 00", HpackError::EndOfString),
        ("3f e2 1f", HpackError::TableTooLarge),
        ("82 20", HpackError::LateTableSize),
    ] {
        assert_eq!(fields(&mut fresh(), &hex(block)), Err(error), "{block}");
    }
}

/// RFC 7541, 4.2 and 6.3.
#[test]
fn the_size_of_the_table_changes_at_the_beginning_of_a_block() {
    let mut decoder = Decoder::new(8_192);
    let blocks: &[(&str, &[&str])] = &[
        // Before our setting has come the table has 4,096 bytes, so the update to 8,192 is what tells us.
        ("40 01 61 01 62 be", &["a: b", "a: b"]),
        ("3f e1 3f be", &["a: b"]),
        ("20 3f e1 1f 82", &[":method: GET"]),
        ("3f e1 1f 40 01 61 01 63", &["a: c"]),
        ("be", &["a: c"]),
    ];
    assert_blocks(&mut decoder, blocks);
    assert_eq!(fields(&mut decoder, &hex("3f e2 3f")), Err(HpackError::TableTooLarge));
    // Two updates emptied the table.
    let mut decoder = fresh();
    assert_blocks(&mut decoder, &[("40 01 61 01 62", &["a: b"]), ("20 3f e1 1f", &[])]);
    assert_eq!(fields(&mut decoder, &hex("be")), Err(HpackError::UnknownIndex));
}

/// One byte for each field, each of them large: a caller that stops after some of them loses nothing but these.
#[test]
fn a_bomb_is_passed_by_and_the_table_stays_in_step() {
    let mut decoder = fresh();
    let mut block = hex("40 01 61 7f a1 1e");
    block.extend(vec![b'v'; 4_000]);
    block.extend(vec![0xbe; 12_000]);
    block.extend(hex("40 01 62 01 63"));
    let (mut kept, mut passed) = (0, 0);
    decoder
        .decode(&block, |_, value| {
            if kept < 16_384 {
                kept += value.len();
            } else {
                passed += 1;
            }
        })
        .unwrap();
    assert_eq!((kept, passed), (5 * 4_000, 12_000 + 2 - 5));
    assert_eq!(fields(&mut decoder, &hex("be")), Ok(vec!["b: c".to_owned()]));
    assert!(decoder.held_bytes() < 20_000, "{}", decoder.held_bytes());
}

/// A table of many small fields, and one that is always full, hold no more than the bound and a little.
#[test]
fn a_decoder_holds_no_more_than_its_table() {
    let mut decoder = fresh();
    for turn in 0..50_000u32 {
        let mut block = vec![0x40, 2];
        block.extend((turn as u16).to_be_bytes());
        block.push(turn as u8 % 60);
        block.extend(vec![b'v'; (turn as u8 % 60).into()]);
        decoder.decode(&block, |_, _| {}).unwrap();
    }
    assert!(decoder.held_bytes() <= 3 * HPACK_TABLE_BYTES, "{}", decoder.held_bytes());
    decoder.shrink();
    assert!(decoder.held_bytes() <= HPACK_TABLE_BYTES + 2_048, "{}", decoder.held_bytes());
    let fields = fields(&mut decoder, &hex("be")).unwrap();
    assert_eq!(fields, [format!("\\xc3O: {}", "v".repeat(49_999 % 256 % 60))]);
}

/// Encodes fields as one block.
fn block(encoder: &mut Encoder, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin_block(&mut out);
    for (name, value) in fields {
        encoder.encode(name, value.as_bytes(), Indexing::Add, &mut out);
    }
    out
}

#[test]
fn a_field_is_kept_when_it_comes_again_after_the_first_block_and_a_long_one_never() {
    let (mut encoder, mut decoder) = (Encoder::new(), fresh());
    let long = "x".repeat(HPACK_KEPT_FIELD_BYTES - 32 - 1);
    let longer = format!("{long}x");
    let list = [("server", "velodrome"), ("a", &long), ("b", &longer)];
    let first = block(&mut encoder, &list).len();
    assert_eq!(encoder.held_bytes(), 0, "many connections have only one answer");
    let sizes = [0; 4].map(|_| {
        let block = block(&mut encoder, &list);
        let expected: Vec<String> =
            list.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(fields(&mut decoder, &block).unwrap(), expected);
        block.len()
    });
    let long_cost = sizes[0] - sizes[2];
    assert!(long_cost > 400 && sizes[2] > 400 && sizes[2] == sizes[3], "{sizes:?}");
    encoder.forget();
    assert_eq!(encoder.held_bytes(), 0);
    assert_eq!((block(&mut encoder, &list).len(), sizes[0]), (first, first));
    assert_eq!(encoder.held_bytes(), 0);
}

#[test]
fn an_encoder_forgets_the_oldest_fields_first() {
    let (mut encoder, mut decoder) = (Encoder::new(), fresh());
    block(&mut encoder, &[]);
    let names: Vec<String> = (0..=HPACK_KEPT_FIELDS).map(|number| format!("x-{number}")).collect();
    for name in &names {
        for expected in [Indexing::Skip, Indexing::Add] {
            let block = block(&mut encoder, &[(name, "v")]);
            assert_eq!(block[0] & 0x40 != 0, expected == Indexing::Add);
            assert_eq!(fields(&mut decoder, &block).unwrap(), [format!("{name}: v")]);
        }
    }
    let again = |encoder: &mut Encoder, name: &str| block(encoder, &[(name, "v")]);
    assert!(again(&mut encoder, &names[0]).len() > 1);
    for name in &names[1..] {
        let block = again(&mut encoder, name);
        assert_eq!(
            (block.len(), fields(&mut decoder, &block)),
            (1, Ok(vec![format!("{name}: v")]))
        );
    }
    assert!(encoder.held_bytes() < 2_048, "{}", encoder.held_bytes());
}

#[test]
fn a_block_that_the_peer_has_is_written_again_until_its_table_changes() {
    let (mut encoder, fields) = (Encoder::new(), [("a", "b"), ("c", "d")]);
    let mut write = |fields: &[(&str, &str)]| {
        let (source, mut written) = (format!("{fields:?}"), Vec::new());
        let is_repeated = encoder.repeat(source.as_bytes(), &mut written);
        if !is_repeated {
            written = block(&mut encoder, fields);
            encoder.end_block(source.as_bytes(), fields.len(), &written);
        }
        (is_repeated, written)
    };
    let blocks: Vec<_> = (0..6).map(|_| write(&fields)).collect();
    assert_eq!(
        blocks.iter().map(|(again, _)| *again).collect::<Vec<_>>(),
        [false, false, false, false, true, true]
    );
    assert_eq!((&blocks[3].1, &blocks[5].1), (&hex("bf be"), &hex("bf be")));
    // A field that is added moves the others.
    (0..2).for_each(|_| drop(write(&[("e", "f")])));
    assert_eq!(write(&fields), (false, hex("c0 bf")));
    assert_eq!(write(&fields), (true, hex("c0 bf")));
}

#[test]
fn a_secret_is_never_indexed() {
    let (mut encoder, mut decoder) = (Encoder::new(), fresh());
    for _ in 0..3 {
        let mut block = Vec::new();
        encoder.encode("set-cookie", b"a=b", Indexing::Never, &mut block);
        encoder.encode("x-secret", b"c", Indexing::Never, &mut block);
        encoder.encode("etag", b"\"1\"", Indexing::Skip, &mut block);
        assert_eq!(block[..2], [0x1f, 55 - 15]);
        let expected = ["set-cookie: a=b", "x-secret: c", "etag: \\\"1\\\""];
        assert_eq!(fields(&mut decoder, &block).unwrap(), expected);
    }
    assert_eq!(fields(&mut decoder, &[0xbe]), Err(HpackError::UnknownIndex));
}

#[test]
fn every_status_is_read_as_it_was_written() {
    let (mut encoder, mut decoder) = (Encoder::new(), fresh());
    for status in (100..1_000).chain(100..1_000) {
        let mut block = Vec::new();
        encoder.status(status, &mut block);
        assert_eq!(fields(&mut decoder, &block).unwrap(), [format!(":status: {status}")]);
    }
}

/// RFC 7541, 4.2: the least size since the last block, and the last one.
#[test]
fn a_smaller_table_of_the_peer_is_announced_and_used() {
    for (settings, update) in [
        (&[4_096][..], ""),
        (&[u32::MAX], ""),
        (&[0], "20"),
        (&[100], "3f 45"),
        (&[0, 4_096], "20 3f e1 1f"),
        (&[100, 50, 60], "3f 13 3f 1d"),
        (&[100, 9_999], "3f 45 3f e1 1f"),
    ] {
        let mut encoder = Encoder::new();
        for _ in 0..3 {
            block(&mut encoder, &[("a", "b"), ("c", "d")]);
        }
        settings.iter().for_each(|bytes| encoder.set_peer_table_bytes(*bytes));
        let block = block(&mut encoder, &[]);
        assert_eq!(block, hex(update), "{settings:?}");
        let mut after = Vec::new();
        encoder.begin_block(&mut after);
        assert!(after.is_empty(), "an update is written once");
    }
    let mut encoder = Encoder::new();
    encoder.set_peer_table_bytes(0);
    assert_eq!(block(&mut encoder, &[]), hex("20"));
    let sizes = [0; 4].map(|_| block(&mut encoder, &[("a", "b")]).len());
    assert_eq!(sizes, [5; 4], "nothing can be kept");
    encoder.set_peer_table_bytes(1 << 20);
    assert_eq!(block(&mut encoder, &[]), hex("3f e1 1f"));
}

/// Something that happens to an encoder.
#[derive(Clone, Debug)]
enum Act {
    Block(Vec<(String, Vec<u8>, Indexing)>),
    /// The last block so often again.
    Again(usize),
    PeerTable(u32),
    Forget,
}

fn act() -> impl Strategy<Value = Act> {
    let name = prop_oneof![
        prop::sample::select(vec!["server", "date", ":status", "cookie", "vary", "x-a", "x-b"])
            .prop_map(str::to_owned),
        "[a-z-]{1,20}",
    ];
    let value = prop_oneof![
        prop::sample::select(vec![&b""[..], b"200", b"a", b"velodrome"]).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..40),
        (0..600usize, any::<u8>()).prop_map(|(size, byte)| vec![byte; size]),
    ];
    let indexing =
        prop::sample::select(vec![Indexing::Add, Indexing::Add, Indexing::Skip, Indexing::Never]);
    prop_oneof![
        12 => prop::collection::vec((name, value, indexing), 0..9).prop_map(Act::Block),
        6 => (1..5usize).prop_map(Act::Again),
        2 => prop_oneof![0..300u32, 0..6_000u32, any::<u32>()].prop_map(Act::PeerTable),
        1 => Just(Act::Forget),
    ]
}

proptest! {
    #[test]
    fn fields_are_decoded_as_they_were_encoded_whatever_happens_between(
        acts in prop::collection::vec(act(), 0..30)
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(), fresh());
        let mut last = Vec::new();
        for act in acts {
            let times = match act {
                Act::PeerTable(bytes) => {
                    encoder.set_peer_table_bytes(bytes);
                    0
                }
                Act::Forget => {
                    encoder.forget();
                    decoder.shrink();
                    0
                }
                Act::Block(list) => {
                    last = list;
                    1
                }
                Act::Again(times) => times,
            };
            for _ in 0..times {
                let (source, mut block) = (format!("{last:?}").into_bytes(), Vec::new());
                if !encoder.repeat(&source, &mut block) {
                    encoder.begin_block(&mut block);
                    for (name, value, indexing) in &last {
                        encoder.encode(name, value, *indexing, &mut block);
                    }
                    encoder.end_block(&source, last.len(), &block);
                }
                let mut read = Vec::new();
                decoder
                    .decode(&block, |name, value| read.push((name.to_vec(), value.to_vec())))
                    .unwrap();
                let sent: Vec<_> = last
                    .iter()
                    .map(|(name, value, _)| (name.clone().into_bytes(), value.clone()))
                    .collect();
                prop_assert_eq!(read, sent);
            }
        }
    }

    #[test]
    fn any_bytes_are_fields_or_an_error(blocks in prop::collection::vec(any::<Vec<u8>>(), 0..8)) {
        let mut decoder = fresh();
        for block in blocks {
            if decoder.decode(&block, |_, _| {}).is_err() {
                break;
            }
        }
        prop_assert!(decoder.held_bytes() < 20_000);
    }
}
