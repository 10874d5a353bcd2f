//! The rules of RFC 6455, by section; the result does not depend on where the input is cut.

use proptest::prelude::*;

use super::*;
use crate::websocket::{write_frame, write_masked};

/// The result of reading, without borrows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Read {
    Message(MessageKind, Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close(Option<u16>),
    Failed(PeerFailure),
}

/// Reads bytes that arrive in pieces of this size.
fn read_in(input: &[u8], piece: usize, limits: &MessageLimits) -> Vec<Read> {
    let (mut reader, mut scratch) = (MessageReader::default(), Vec::new());
    let (mut waiting, mut all) = (Vec::new(), Vec::new());
    for bytes in input.chunks(piece.max(1)) {
        waiting.extend_from_slice(bytes);
        loop {
            match reader.next(PeerRole::Server, limits, &waiting, &mut scratch) {
                Ok((used, step)) => {
                    waiting.drain(..used);
                    all.push(match step {
                        ReadStep::NeedMore => break,
                        ReadStep::Message(kind, bytes) => Read::Message(kind, bytes.to_vec()),
                        ReadStep::Ping(bytes) => Read::Ping(bytes.to_vec()),
                        ReadStep::Pong => Read::Pong,
                        ReadStep::Close(code) => Read::Close(code.map(CloseCode::number)),
                    });
                }
                Err(failure) => {
                    all.push(Read::Failed(failure));
                    return all;
                }
            }
        }
    }
    all
}

fn read(input: &[u8]) -> Vec<Read> {
    let all = read_in(input, input.len(), &MessageLimits::default());
    for piece in 1..=input.len().min(20) {
        assert_eq!(read_in(input, piece, &MessageLimits::default()), all, "in pieces of {piece}");
    }
    all
}

const MASK: [u8; 4] = [0x5a, 0x01, 0xff, 0x80];

/// A masked frame with this first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_masked(&mut out, Opcode::Text, payload, MASK);
    out[0] = first;
    out
}

fn text(text: &str) -> Read {
    Read::Message(MessageKind::Text, text.as_bytes().to_vec())
}

const TEXT: u8 = 0x81;
const TEXT_FIRST: u8 = 0x01;
const MORE: u8 = 0x00;
const LAST: u8 = 0x80;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// Section 5.6.
#[test]
fn messages_come_out_whole() {
    let input =
        [frame(TEXT, "héllo".as_bytes()), frame(0x82, &[0, 255, 3]), frame(TEXT, b"")].concat();
    assert_eq!(
        read(&input),
        [text("héllo"), Read::Message(MessageKind::Binary, vec![0, 255, 3]), text("")]
    );
}

/// Section 5.4: fragments of any size, also empty ones, with control frames between them.
#[test]
fn fragments_are_one_message_and_control_frames_may_stand_between() {
    let input = [
        frame(TEXT_FIRST, b"a\xc3"),
        frame(PING, b"there?"),
        frame(MORE, b""),
        frame(PONG, b""),
        frame(MORE, b"\xa9b"),
        frame(LAST, b"c"),
        frame(TEXT, b"next"),
    ]
    .concat();
    assert_eq!(
        read(&input),
        [Read::Ping(b"there?".to_vec()), Read::Pong, text("aébc"), text("next")]
    );
}

#[test]
fn frames_in_a_wrong_order_are_refused() {
    let within = Read::Failed(PeerFailure::Protocol("a message within a message"));
    let nothing = Read::Failed(PeerFailure::Protocol("continuation of nothing"));
    assert_eq!(read(&[frame(TEXT_FIRST, b"a"), frame(TEXT, b"b")].concat()), [within]);
    assert_eq!(read(&frame(LAST, b"a")), std::slice::from_ref(&nothing));
    assert_eq!(read(&frame(MORE, b"a")), std::slice::from_ref(&nothing));
    assert_eq!(read(&[frame(TEXT, b"a"), frame(LAST, b"b")].concat()), [text("a"), nothing]);
}

/// Section 5.1.
#[test]
fn frames_of_a_client_are_masked_and_those_of_a_server_are_not() {
    let mut plain = Vec::new();
    write_frame(&mut plain, Opcode::Text, b"hello");
    assert_eq!(
        read(&plain),
        [Read::Failed(PeerFailure::Protocol("frame of a client is not masked"))]
    );
    let (mut reader, mut scratch) = (MessageReader::default(), Vec::new());
    let limits = MessageLimits::default();
    let read = reader.next(PeerRole::Client, &limits, &plain, &mut scratch);
    assert_eq!(read, Ok((7, ReadStep::Message(MessageKind::Text, b"hello"))));
    let refused = MessageReader::default()
        .next(PeerRole::Client, &limits, &frame(TEXT, b"a"), &mut scratch)
        .map(drop);
    assert_eq!(refused, Err(PeerFailure::Protocol("frame of a server is masked")));
}

/// Section 8.1: the first wrong byte ends the connection, whatever else would follow.
#[test]
fn text_that_is_not_utf8_is_found_at_once() {
    assert_eq!(read(&frame(TEXT, b"a\xff")), [Read::Failed(PeerFailure::NotUtf8)]);
    assert_eq!(read(&frame(TEXT, b"cut \xe2\x82")), [Read::Failed(PeerFailure::NotUtf8)]);
    // The frame would continue, and so would the message.
    let mut begun = frame(TEXT_FIRST, b"ab\xed\xa0\x80 and more");
    begun.truncate(6 + 5);
    assert_eq!(read(&begun), [Read::Failed(PeerFailure::NotUtf8)]);
    let across = [frame(TEXT_FIRST, b"\xf4"), frame(MORE, b"\x90")].concat();
    assert_eq!(read(&across), [Read::Failed(PeerFailure::NotUtf8)]);
    assert_eq!(read(&frame(0x82, b"\xff")), [Read::Message(MessageKind::Binary, vec![0xff])]);
}

/// Section 5.5.1 and 7.4.
#[test]
fn a_close_has_a_code_that_may_be_sent_and_a_reason_in_utf8() {
    assert_eq!(read(&frame(CLOSE, b"")), [Read::Close(None)]);
    assert_eq!(read(&frame(CLOSE, b"\x03\xe8bye")), [Read::Close(Some(1000))]);
    assert_eq!(read(&frame(CLOSE, b"\x0f\xa0")), [Read::Close(Some(4000))]);
    let cut = Read::Failed(PeerFailure::Protocol("close code is cut"));
    assert_eq!(read(&frame(CLOSE, b"\x03")), [cut]);
    let wrong = Read::Failed(PeerFailure::Protocol("close code must not be sent"));
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2000, 5000] {
        assert_eq!(
            read(&frame(CLOSE, &code.to_be_bytes())),
            std::slice::from_ref(&wrong),
            "{code}"
        );
    }
    assert_eq!(read(&frame(CLOSE, b"\x03\xe8\xff")), [Read::Failed(PeerFailure::NotUtf8)]);
}

#[test]
fn each_bound_is_the_last_size_that_passes() {
    let limits = MessageLimits { frame: 10, message: 15, fragments: 3 };
    let run = |input: &[u8]| read_in(input, input.len(), &limits);
    assert_eq!(run(&frame(TEXT, &[b'a'; 10])), [text("aaaaaaaaaa")]);
    let refused = |reason| [Read::Failed(PeerFailure::TooBig(reason))];
    assert_eq!(run(&frame(TEXT, &[b'a'; 11])), refused("frame is too big"));
    let of = |sizes: &[usize]| -> Vec<u8> {
        let last = sizes.len() - 1;
        let first = |at| u8::from(at == 0) | if at == last { 0x80 } else { 0 };
        sizes
            .iter()
            .enumerate()
            .flat_map(|(at, size)| frame(first(at), &vec![b'a'; *size]))
            .collect()
    };
    assert_eq!(run(&of(&[10, 5])), [text("aaaaaaaaaaaaaaa")]);
    assert_eq!(run(&of(&[10, 6])), refused("message is too big"));
    assert_eq!(run(&of(&[1, 1, 1])), [text("aaa")]);
    assert_eq!(run(&of(&[1, 1, 1, 1])), refused("message has too many fragments"));
    // The head alone is refused because of its length, without waiting for the payload.
    let mut head = frame(0x82, &[0; 200]);
    head.truncate(8);
    assert_eq!(run(&head), refused("frame is too big"));
}

#[test]
fn an_idle_reader_holds_nothing() {
    let (mut reader, mut scratch) = (MessageReader::default(), Vec::new());
    let limits = MessageLimits::default();
    let begun = frame(TEXT_FIRST, &[b'a'; 1000]);
    assert_eq!(
        reader.next(PeerRole::Server, &limits, &begun, &mut scratch).map(|(used, _)| used),
        Ok(begun.len())
    );
    assert!(reader.held_bytes() >= 1000);
    let end = frame(LAST, b"");
    assert!(reader.next(PeerRole::Server, &limits, &end, &mut scratch).is_ok());
    assert_eq!(reader.held_bytes(), 0);
    assert_eq!(size_of::<MessageReader>(), 16);
}

fn a_frame() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        Just(TEXT),
        Just(TEXT_FIRST),
        Just(MORE),
        Just(LAST),
        Just(PING),
        Just(PONG),
        Just(CLOSE),
        Just(0x82_u8),
        Just(0x02_u8),
        any::<u8>(),
    ];
    let payload = prop_oneof![
        "[a-zé€]{0,40}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..130),
    ];
    (first, payload).prop_map(|(first, payload)| frame(first, &payload))
}

proptest! {
    #[test]
    fn where_the_bytes_are_cut_does_not_matter(
        frames in prop::collection::vec(a_frame(), 1..8),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        piece in 1_usize..300,
    ) {
        let mut input = frames.concat();
        if let Some((at, byte)) = damage {
            let at = at.index(input.len());
            input[at] = byte;
        }
        let limits = MessageLimits { frame: 120, message: 200, fragments: 4 };
        prop_assert_eq!(read_in(&input, piece, &limits), read_in(&input, input.len(), &limits));
    }
}

#[test]
fn a_compressed_message_comes_whole_or_in_fragments_where_that_is_agreed() {
    // RFC 7692, section 7.2.3.1: one frame, and two.
    let whole = frame(0xc1, b"\xf2\x48\xcd\xc9\xc9\x07\x00");
    let parts = [frame(0x41, b"\xf2\x48\xcd"), frame(0x80, b"\xc9\xc9\x07\x00")].concat();
    let limits = MessageLimits::default();
    let read = |reader: &mut MessageReader, input: &[u8]| {
        let mut scratch = Vec::new();
        let read = reader.next(PeerRole::Server, &limits, input, &mut scratch);
        read.map(|(used, step)| (used, step == ReadStep::Message(MessageKind::Text, b"Hello")))
    };
    for input in [&whole, &parts] {
        let mut reader = MessageReader::new(Extension::Deflate);
        assert_eq!(read(&mut reader, input), Ok((input.len(), true)));
        assert_eq!(reader.held_bytes(), 0);
        let refused = read(&mut MessageReader::default(), input);
        assert_eq!(refused, Err(PeerFailure::Protocol("reserved bit without an extension")));
    }
    for (input, failure) in [
        (frame(0xc1, b"\xff\xff"), PeerFailure::NotDeflated),
        (frame(0xc9, b""), PeerFailure::Protocol("reserved bit without an extension")),
        // The compressed text is 0xff.
        (frame(0xc1, b"\x00\x01\x00\xfe\xff\xff\x00"), PeerFailure::NotUtf8),
    ] {
        assert_eq!(read(&mut MessageReader::new(Extension::Deflate), &input), Err(failure));
    }
    let parts = [frame(0x41, b"\xf2\x48\xcd"), frame(0xc0, b"\xc9\xc9\x07\x00")].concat();
    let refused = read(&mut MessageReader::new(Extension::Deflate), &parts);
    assert_eq!(refused, Err(PeerFailure::Protocol("reserved bit without an extension")));
}
