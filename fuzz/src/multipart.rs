//! Forms with files: however the bytes are cut, the same parts result; a boundary is valid; and a form that we
//! write is read back.

use wire::http::multipart::{Boundary, MultipartDecoder, MultipartError, MultipartPiece};

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/multipart"];

/// Forms of all kinds, with the boundary `X`.
pub const SEEDS: &[&[u8]] = &[
    b"--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--X--\r\n",
    b"--X\r\nContent-Disposition: form-data; name=f; filename=\"a%22\\\".txt\"\r\nContent-Type: \
      a/b\r\n\r\n\r\n--X\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n--X--",
    b"preamble\r\n--X \t\r\nX: y\r\n\r\n\r\n--X-",
    b"multipart/form-data; boundary=\"a b\"",
    b"--X\r\n\r\n\r\n--X--",
];

/// Pieces of forms.
pub const WORDS: &[&[u8]] = &[
    b"--X",
    b"\r\n--X",
    b"\r\n--X--",
    b"\r\n",
    b"\r",
    b"\n",
    b"--",
    b"\r\n\r\n",
    b"Content-Disposition: form-data; name=a",
    b"Content-Type: text/plain",
    b"; name=",
    b"; filename=",
    b"\"",
    b"\\\"",
    b"\\\\",
    b"%22",
    b"%0D%0a",
    b";",
    b"=",
    b":",
    b" ",
    b"\t",
    b"multipart/form-data; boundary=",
];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    assert_boundary(data);
    let boundary = boundary();
    let whole = read(&boundary, &[data]);
    for position in cutting::positions(data.len()) {
        let (first, second) = data.split_at(position);
        assert_eq!(read(&boundary, &[first, second]), whole, "cut at {position}");
    }
    let bytes: Vec<&[u8]> = data.chunks(1).collect();
    assert_eq!(read(&boundary, &bytes), whole, "byte by byte");
    assert_read_back(&boundary, data);
}

fn boundary() -> Boundary {
    let found = Boundary::of_content_type(b"multipart/form-data; boundary=X");
    found.expect("a valid boundary").expect("a form")
}

/// Name, file name, media type, data, and whether it is complete.
type Part = (Vec<u8>, Option<Vec<u8>>, Vec<u8>, Vec<u8>, bool);

fn read(boundary: &Boundary, inputs: &[&[u8]]) -> Result<(Vec<Part>, bool), MultipartError> {
    let mut decoder = MultipartDecoder::new(boundary);
    let mut parts: Vec<Part> = Vec::new();
    for input in inputs {
        let mut rest = *input;
        loop {
            let (consumed, piece) = decoder.next(rest)?;
            match (piece, parts.last_mut()) {
                (MultipartPiece::Part(head), _) => {
                    let file_name = head.file_name.map(<[u8]>::to_vec);
                    let (name, media_type) = (head.name.to_vec(), head.media_type.to_vec());
                    parts.push((name, file_name, media_type, Vec::new(), false));
                }
                (MultipartPiece::Data(data), Some((_, _, _, all, false))) => {
                    assert!(!data.is_empty());
                    all.extend_from_slice(data);
                }
                (MultipartPiece::PartEnd, Some((_, _, _, _, is_whole @ false))) => *is_whole = true,
                (MultipartPiece::Data(_) | MultipartPiece::PartEnd, _) => panic!("no part is open"),
                (MultipartPiece::NeedMore, _) => {
                    assert_eq!(consumed, rest.len(), "something was left and more was asked for");
                    break;
                }
                (MultipartPiece::End, _) => {
                    assert!(decoder.is_over() && parts.iter().all(|part| part.4));
                    return Ok((parts, true));
                }
            }
            rest = &rest[consumed..];
        }
    }
    assert!(!decoder.is_over());
    Ok((parts, false))
}

/// Checks that a parsed boundary has an allowed length and allowed characters.
fn assert_boundary(data: &[u8]) {
    if let Ok(Some(boundary)) = Boundary::of_content_type(data) {
        let text = boundary.as_bytes();
        assert!((1..=70).contains(&text.len()) && !text.ends_with(b" "));
        assert!(text.iter().all(|byte| (b' '..=b'z').contains(byte) && *byte != b'"'));
    }
}

fn assert_read_back(boundary: &Boundary, data: &[u8]) {
    let is_delimited = [b"\r\n", data].concat().windows(5).any(|window| window == b"\r\n--X");
    if is_delimited {
        return;
    }
    let mut form =
        b"--X\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\n".to_vec();
    form.extend_from_slice(data);
    form.extend_from_slice(b"\r\n--X--\r\n");
    let expected = (b"a".to_vec(), Some(b"b".to_vec()), Vec::new(), data.to_vec(), true);
    assert_eq!(read(boundary, &[&form]), Ok((vec![expected], true)));
}
