//! WebSocket frames: however the bytes are cut, the same messages result; nothing beyond a limit is held; and a message
//! that we write is read back.

use wire::websocket::{
    Extension, MessageKind, MessageLimits, MessageReader, Opcode, PeerRole, ReadStep,
    write_deflated, write_frame,
};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/websocket"];

/// Frames of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"\x07\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58",
    b"\x01\x01\x83\0\0\0\0abc\x80\x82\0\0\0\0de",
    b"\x03\x89\x82\x01\x02\x03\x04ab\x8a\x80\0\0\0\0\x88\x82\0\0\0\0\x03\xe8",
    b"\x09\x82\xfe\0\x7e\0\0\0\0",
    b"\x05\x82\xff\0\0\0\0\0\x01\0\0\0\0\0\0",
    b"\x02\x81\x82\0\0\0\0\xc3\xa9",
    b"\x04\xc1\x87\0\0\0\0\xf2\x48\xcd\xc9\xc9\x07\x00",
    b"\x04\x41\x83\0\0\0\0\xf2\x48\xcd\x80\x84\0\0\0\0\xc9\xc9\x07\x00",
    b"\x03\xc2\x8b\0\0\0\0\x00\x05\x00\xfa\xffHello\x00",
];

/// Pieces of frames.
pub const WORDS: &[&[u8]] = &[
    b"\x81\x80\0\0\0\0",
    b"\x01\x80\0\0\0\0",
    b"\x00\x80\0\0\0\0",
    b"\x80\x80\0\0\0\0",
    b"\x88\x82\0\0\0\0\x03\xe8",
    b"\x89\x80\0\0\0\0",
    b"\xfe\0\x7e",
    b"\xff\0\0\0\0\0\x01\0\0",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
    b"\xc1\x87\0\0\0\0\xf2\x48\xcd\xc9\xc9\x07\x00",
    b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
    b"\0\0\xff\xff",
    b"\x62\x18\x05\xa3\x60\x14",
];

const LIMITS: MessageLimits = MessageLimits { frame: 300, message: 500, fragments: 5 };

/// Checks the properties of this module for one input.
///
/// # Panics
/// When one is broken.
pub fn check(data: &[u8]) {
    let Some((piece, input)) = data.split_first() else { return };
    for extension in [Extension::None, Extension::Deflate] {
        let whole = read(extension, input, input.len());
        let cut = read(extension, input, usize::from(*piece));
        assert_eq!(cut, whole, "in pieces of {piece}");
        for step in &whole {
            if let Ok(Said::Message(kind, bytes)) = step {
                assert!(bytes.len() <= LIMITS.message);
                assert!(*kind == MessageKind::Binary || str::from_utf8(bytes).is_ok());
            }
        }
    }
    assert_written(input);
}

#[derive(Debug, PartialEq, Eq)]
enum Said {
    Message(MessageKind, Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close(Option<u16>),
}

fn read(extension: Extension, input: &[u8], piece: usize) -> Vec<Result<Said, &'static str>> {
    let (mut reader, mut scratch) = (MessageReader::new(extension), Vec::new());
    let (mut waiting, mut all) = (Vec::new(), Vec::new());
    for bytes in input.chunks(piece.max(1)) {
        waiting.extend_from_slice(bytes);
        loop {
            let (used, step) = match reader.next(PeerRole::Server, &LIMITS, &waiting, &mut scratch)
            {
                Ok(step) => step,
                Err(failure) => {
                    all.push(Err(failure.reason()));
                    return all;
                }
            };
            assert!(used <= waiting.len());
            all.push(Ok(match step {
                ReadStep::NeedMore => {
                    waiting.drain(..used);
                    // The caller keeps a head and a control frame, the reader keeps payload.
                    assert!(waiting.len() < 14 + 125);
                    assert!(reader.held_bytes() < 2 * LIMITS.message + 200);
                    break;
                }
                ReadStep::Message(kind, bytes) => Said::Message(kind, bytes.to_vec()),
                ReadStep::Ping(bytes) => Said::Ping(bytes.to_vec()),
                ReadStep::Pong => Said::Pong,
                ReadStep::Close(code) => Said::Close(code.map(|code| code.number())),
            }));
            waiting.drain(..used);
        }
    }
    all
}

fn assert_written(payload: &[u8]) {
    let limits = MessageLimits { frame: payload.len(), message: payload.len(), fragments: 1 };
    for (extension, write) in
        [(Extension::None, write_frame as fn(&mut _, _, &_)), (Extension::Deflate, write_deflated)]
    {
        let mut frame = Vec::new();
        write(&mut frame, Opcode::Binary, payload);
        let mut scratch = Vec::new();
        let read =
            MessageReader::new(extension).next(PeerRole::Client, &limits, &frame, &mut scratch);
        assert_eq!(read, Ok((frame.len(), ReadStep::Message(MessageKind::Binary, payload))));
    }
}
