//! Request bodies: however the bytes are cut, the same data results and the next request begins at the same
//! byte; and what we write as chunks is read back.

use wire::http::body::{BodyDecoder, BodyLimits, BodyPiece, write_chunk, write_last_chunk};
use wire::http::fields::FieldList;
use wire::http::head::Framing;
use wire::http::refusal::Reason;

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/body"];

/// Bodies of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"0\r\n\r\nGET / HTTP/1.1\r\n",
    b"5\r\nhello\r\n6;a=b;c=\"d\"\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n",
    b"0000000000000001\r\na\r\n00\r\n\r\n",
    b"A\r\n0123456789\r\na\r\n0123456789\r\n0;last\r\n\r\nnext",
    b"3\r\nab\r\n0\r\n\r\n",
    b"ffffffffffffffff\r\nx",
    b"1\na\n0\n\n",
    b"0\r\nContent-Length: 5\r\n\r\n",
];

/// Pieces of bodies.
pub const WORDS: &[&[u8]] = &[
    b"0",
    b"1",
    b"5",
    b"a",
    b"F",
    b"10",
    b"0x1",
    b"+1",
    b"1_0",
    b" ",
    b"\t",
    b";",
    b";a=b",
    b";a=\"b\"",
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"0\r\n\r\n",
    b"hello",
    b"X-Y: z\r\n",
    b": ",
    b" folded\r\n",
    b"00000000000000000",
    b"7fffffffffffffff",
    b"10000000000000000",
    b"\0",
];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    assert_framing(Framing::Chunked, data);
    let length = data.first().copied().unwrap_or_default();
    assert_framing(Framing::Length(u64::from(length)), data);
    let counted = decode(Framing::Length(u64::from(length)), &[data]);
    let expected = &data[..data.len().min(usize::from(length))];
    assert_eq!((counted.data.as_slice(), counted.consumed), (expected, expected.len()));
    assert_read_back(data);
}

/// The result of decoding an input in pieces.
#[derive(Debug, PartialEq, Eq)]
struct Decoded {
    data: Vec<u8>,
    consumed: usize,
    end: End,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Over,
    Open,
    Refused(Reason),
}

fn decode(framing: Framing, inputs: &[&[u8]]) -> Decoded {
    let mut decoded = Decoded { data: Vec::new(), consumed: 0, end: End::Open };
    let mut decoder =
        BodyDecoder::new(framing, &BodyLimits::default()).expect("a length within the limit");
    for input in inputs {
        let mut rest = *input;
        loop {
            let (consumed, piece) = match decoder.next(rest) {
                Ok(step) => step,
                Err(refusal) => {
                    // Where exactly it stopped does not matter: the connection is closed.
                    return Decoded { consumed: 0, end: End::Refused(refusal.reason()), ..decoded };
                }
            };
            decoded.consumed += consumed;
            match piece {
                BodyPiece::Data(piece) => {
                    assert!(!piece.is_empty() && rest[..consumed].ends_with(piece));
                    decoded.data.extend_from_slice(piece);
                }
                BodyPiece::NeedMore => {
                    assert_eq!(consumed, rest.len(), "something was left and more was asked for");
                    break;
                }
                BodyPiece::End => {
                    assert!(decoder.is_over());
                    return Decoded { end: End::Over, ..decoded };
                }
            }
            rest = &rest[consumed..];
        }
    }
    decoded
}

fn assert_framing(framing: Framing, data: &[u8]) {
    let whole = decode(framing, &[data]);
    assert!(whole.data.len() <= whole.consumed || matches!(whole.end, End::Refused(_)));
    if whole.end == End::Over && framing == Framing::Chunked {
        assert!(data[..whole.consumed].ends_with(b"\r\n"));
    }
    for position in cutting::positions(data.len()) {
        let (first, second) = data.split_at(position);
        assert_eq!(decode(framing, &[first, second]), whole, "cut at {position}");
    }
    // The empty piece first: an empty body ends before any byte arrives.
    let bytes: Vec<&[u8]> = std::iter::once(&data[..0]).chain(data.chunks(1)).collect();
    assert_eq!(decode(framing, &bytes), whole, "byte by byte");
}

/// The body that we write must be read back with the same data and end.
fn assert_read_back(data: &[u8]) {
    let mut body = Vec::new();
    let size = 1 + usize::from(data.last().copied().unwrap_or_default());
    data.chunks(size).for_each(|chunk| write_chunk(&mut body, chunk));
    write_last_chunk(&mut body, FieldList::of(&[("X-Sum", "1")]).fields());
    let length = body.len();
    body.extend_from_slice(b"GET /");
    let decoded = decode(Framing::Chunked, &[&body]);
    assert_eq!(decoded, Decoded { data: data.to_vec(), consumed: length, end: End::Over });
}
