//! Goal: a form with files means the same however it is cut, and what breaks its rules is refused. Method: forms as
//! browsers, curl and libraries send them, generated ones in all cuts, and noise.

use proptest::prelude::*;
use wire::http::multipart::{Boundary, MultipartDecoder, MultipartError, MultipartPiece};
use wire::limits;

/// A part as it was read: name, file name, media type, data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Part {
    name: Vec<u8>,
    file_name: Option<Vec<u8>>,
    media_type: Vec<u8>,
    data: Vec<u8>,
    is_whole: bool,
}

/// The result for an input: parts, and whether the form has ended.
type Read = Result<(Vec<Part>, bool), MultipartError>;

fn boundary(text: &str) -> Boundary {
    let value = format!("multipart/form-data; boundary=\"{text}\"");
    Boundary::of_content_type(value.as_bytes()).unwrap().unwrap()
}

fn read_of(boundary: &Boundary, inputs: &[&[u8]]) -> Read {
    let mut decoder = MultipartDecoder::new(boundary);
    let mut parts: Vec<Part> = Vec::new();
    for input in inputs {
        let mut rest = *input;
        loop {
            let (consumed, piece) = decoder.next(rest)?;
            match piece {
                MultipartPiece::Part(head) => parts.push(Part {
                    name: head.name.to_vec(),
                    file_name: head.file_name.map(<[u8]>::to_vec),
                    media_type: head.media_type.to_vec(),
                    ..Part::default()
                }),
                MultipartPiece::Data(data) => {
                    assert!(!data.is_empty());
                    let part = parts.last_mut().unwrap();
                    assert!(!part.is_whole);
                    part.data.extend_from_slice(data);
                }
                MultipartPiece::PartEnd => parts.last_mut().unwrap().is_whole = true,
                MultipartPiece::NeedMore => {
                    assert_eq!(consumed, rest.len(), "something was left and more was asked for");
                    break;
                }
                MultipartPiece::End => {
                    assert!(decoder.is_over());
                    return Ok((parts, true));
                }
            }
            rest = &rest[consumed..];
        }
    }
    Ok((parts, false))
}

/// Reads it whole and at every cut; the results must be equal.
#[track_caller]
fn read(text: &str, input: &[u8]) -> Read {
    let boundary = boundary(text);
    let whole = read_of(&boundary, &[input]);
    for position in 0..=input.len() {
        let (first, second) = input.split_at(position);
        assert_eq!(read_of(&boundary, &[first, second]), whole, "cut at {position}");
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read_of(&boundary, &bytes), whole, "byte by byte");
    whole
}

/// The only part of a form whose part has this head and no data.
#[track_caller]
fn part_of(head: &str) -> Result<Part, MultipartError> {
    let (mut parts, is_over) = read("B", format!("--B\r\n{head}\r\n\r\n\r\n--B--").as_bytes())?;
    assert!(is_over && parts.len() == 1 && parts[0].data.is_empty());
    Ok(parts.remove(0))
}

#[track_caller]
fn file_name_of(parameters: &str) -> String {
    let part = part_of(&format!("Content-Disposition: form-data; {parameters}")).unwrap();
    String::from_utf8(part.file_name.unwrap()).unwrap()
}

#[test]
fn a_form_of_a_browser_is_read() {
    let form = "--X\r\nContent-Disposition: form-data; \
                name=\"title\"\r\n\r\nHello\r\n--X\r\nContent-Disposition: form-data; name=\"file\"; \
                filename=\"a.txt\"\r\nContent-Type: \
                text/plain\r\n\r\none\r\n--two\r\n-\r\r\n\r\n--X\r\nContent-Disposition: form-data; \
                name=\"none\"; filename=\"\"\r\nContent-Type: \
                application/octet-stream\r\n\r\n\r\n--X--\r\n";
    let (parts, is_over) = read("X", form.as_bytes()).unwrap();
    assert!(is_over && parts.iter().all(|part| part.is_whole));
    let expected = [
        ("title", None, "", "Hello"),
        ("file", Some("a.txt"), "text/plain", "one\r\n--two\r\n-\r\r\n"),
        ("none", Some(""), "application/octet-stream", ""),
    ];
    assert_eq!(parts.len(), expected.len());
    for (part, (name, file_name, media_type, data)) in parts.iter().zip(expected) {
        assert_eq!(part.name, name.as_bytes());
        assert_eq!(part.file_name.as_deref(), file_name.map(str::as_bytes));
        assert_eq!(part.media_type, media_type.as_bytes());
        assert_eq!(part.data, data.as_bytes());
    }
}

#[test]
fn multipart_preamble_and_epilogue_are_ignored() {
    let form = "a preamble\r\n--Xanadu\r\r\n--X \t\r\nContent-Disposition: form-data; \
                name=a\r\n\r\nb\r\n--X--epilogue";
    assert_eq!(read("X", form.as_bytes()), Err(MultipartError::InvalidDelimiter));
    let form = form.replace("--Xanadu", "--Y");
    let (parts, is_over) = read("X", form.as_bytes()).unwrap();
    assert!(is_over);
    assert_eq!((parts[0].name.as_slice(), parts[0].data.as_slice()), (&b"a"[..], &b"b"[..]));
    assert_eq!(read("X", b"--X--"), Ok((Vec::new(), true)));
}

#[test]
fn a_part_without_data_needs_no_empty_line_of_its_own() {
    let form =
        b"--X\r\nContent-Disposition: form-data; name=a\r\n\r\n--X\r\nContent-Disposition: form-data; \
          name=b\r\n\r\n--\r\n--X--";
    let (parts, is_over) = read("X", form).unwrap();
    assert!(is_over);
    assert_eq!((parts.len(), parts[0].data.len(), parts[1].data.as_slice()), (2, 0, &b"--"[..]));
}

#[test]
fn a_form_that_is_cut_is_not_over() {
    let form = b"--X\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--X--";
    for end in 0..form.len() {
        let (_, is_over) = read_of(&boundary("X"), &[&form[..end]]).unwrap();
        assert!(!is_over, "{end}");
    }
}

#[test]
fn names_are_read_as_each_sender_writes_them() {
    // Browsers and curl: three characters percent-encoded, a backslash unescaped.
    assert_eq!(file_name_of("name=a; filename=\"a%22b%0D%0ac%25d.txt\""), "a\"b\r\nc%25d.txt");
    assert_eq!(file_name_of("name=a; filename=\"C:\\dir\\a.txt\""), "C:\\dir\\a.txt");
    assert_eq!(file_name_of("name=a; filename=\"ends with \\\""), "ends with \\");
    // curl --form-escape, and libraries: backslashes before quotation marks and backslashes.
    assert_eq!(file_name_of("name=a; filename=\"a\\\"b\\\\c\""), "a\"b\\c");
    assert_eq!(file_name_of("filename=\"x\\\"; y\" ; name=\"a;b=c\""), "x\"; y");
    // A token, other parameters, a semicolon at the end, UTF-8.
    assert_eq!(file_name_of("NAME=a;FileName=plain.txt;x=\"y\";"), "plain.txt");
    assert_eq!(file_name_of("name=a; filename=\"größe ✓.txt\"; filename*=UTF-8''b"), "größe ✓.txt");
    // urllib3 before 1.25 and others: the extended form alone (RFC 8187).
    assert_eq!(file_name_of("name=a; filename*=UTF-8''%e2%82%ac%20a.txt"), "€ a.txt");
    assert_eq!(file_name_of("name=a; filename*=\"utf-8'en'b.txt\""), "b.txt");
    assert_eq!(file_name_of("filename*=ISO-8859-1''gr%fc%DFe; name=a"), "grüße");
    let part = part_of("content-disposition:FORM-DATA;name=\"\"\r\nX-Other: 1").unwrap();
    assert_eq!((part.name.len(), part.file_name), (0, None));
}

#[test]
fn heads_that_break_the_rules_are_refused() {
    let disposition = "Content-Disposition: form-data; name=a";
    for head in [
        "X: 1",
        "Content-Disposition: form-data",
        "Content-Disposition: form-data; filename=a",
        "Content-Disposition: attachment; name=a",
    ] {
        assert_eq!(part_of(head), Err(MultipartError::UnnamedPart), "{head}");
    }
    for head in [
        "no colon",
        ": no name",
        "Blank : x",
        "Content-Disposition: form-data; name=\"a",
        "Content-Disposition: form-data; name=\"a\"b",
        "Content-Disposition: form-data; name=a b",
        "Content-Disposition: form-data; name=a; name=b",
        "Content-Disposition: form-data; =a",
        "Content-Disposition: form-data; a",
        "Content-Disposition: form-data; name=a; filename*=b",
        "Content-Disposition: form-data; name=a; filename*=UTF-8''%f",
        "Content-Disposition: form-data; name=a; filename*=UTF-8''%+1",
        "Content-Disposition: form-data; name=a; filename*=UTF-8''%ff",
        "Content-Disposition: form-data; name=a; filename*=koi8-r''b",
        "Content-Disposition: form-data; name=a; filename*=UTF-8''b; filename*=UTF-8''c",
        &format!("{disposition}\r\n folded"),
        &format!("{disposition}\r\n{disposition}"),
        &format!("{disposition}\r\nContent-Type: a/b\r\nContent-Type: a/b"),
        &format!("{disposition}\r\nX: a\rb"),
        &format!("{disposition}\r\nX: a\0"),
    ] {
        assert_eq!(part_of(head), Err(MultipartError::InvalidPartHead), "{head:?}");
    }
    let long = "x".repeat(limits::PART_NAME_SIZE);
    assert_eq!(file_name_of(&format!("name=a; filename={long}")), long);
    let longer = format!("{disposition}; filename={long}x");
    assert_eq!(part_of(&longer), Err(MultipartError::NameTooLong));
}

#[test]
fn a_form_is_bounded() {
    let boundary = boundary("X");
    let endless = format!("--X\r\nX: {}", "y".repeat(limits::PART_HEAD_SIZE));
    assert_eq!(read_of(&boundary, &[endless.as_bytes()]), Err(MultipartError::PartHeadTooLarge));
    let part = "--X\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
    let most = part.repeat(limits::PARTS_MAX) + "--X--";
    assert_eq!(read_of(&boundary, &[most.as_bytes()]).unwrap().0.len(), limits::PARTS_MAX);
    let more = part.repeat(limits::PARTS_MAX + 1) + "--X--";
    assert_eq!(read_of(&boundary, &[more.as_bytes()]), Err(MultipartError::TooManyParts));
}

#[test]
fn the_boundary_is_read_from_the_media_type() {
    let of = |value: &str| {
        let boundary = Boundary::of_content_type(value.as_bytes());
        boundary
            .map(|found| found.map(|found| String::from_utf8(found.as_bytes().to_vec()).unwrap()))
    };
    let found = |text: &str| Ok(Some(text.to_owned()));
    assert_eq!(of("multipart/form-data; boundary=a-b_c"), found("a-b_c"));
    assert_eq!(of("Multipart/Form-Data;charset=utf-8;BOUNDARY=\"a b\""), found("a b"));
    assert_eq!(of("text/plain; boundary=a"), Ok(None));
    assert_eq!(of("multipart/mixed; boundary=a"), Ok(None));
    assert_eq!(of("multipart/form-data"), Err(MultipartError::MissingBoundary));
    let long = "x".repeat(70);
    assert_eq!(of(&format!("multipart/form-data; boundary={long}")), found(&long));
    for wrong in [&format!("{long}x"), "\"\"", "\"a \"", "\"a\\\"b\"", "a\u{e9}", "a b", "\"a"] {
        let value = format!("multipart/form-data; boundary={wrong}");
        assert_eq!(of(&value), Err(MultipartError::InvalidBoundary), "{wrong}");
    }
}

/// Data that contains near misses of a delimiter.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just(b"\r\n--X".to_vec()),
        Just(b"\r\n--XY".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"--XYX".to_vec()),
        Just(b"-".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..9),
    ];
    proptest::collection::vec(word, 0..12).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn written_multipart_reads_back_at_any_cut(
        contents in proptest::collection::vec(data(), 0..5),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let text = "XYXYZ";
        // A delimiter must not occur in the data: RFC 2046 section 5.1.1.
        prop_assume!(contents.iter().all(|data| {
            memchr::memmem::find(&[b"\r\n", data.as_slice()].concat(), b"\r\n--XYXYZ").is_none()
        }));
        let mut form = Vec::new();
        for (number, data) in contents.iter().enumerate() {
            let head = format!("--{text}\r\nContent-Disposition: form-data; name=\"{number}\"\r\n\r\n");
            form.extend_from_slice(head.as_bytes());
            form.extend_from_slice(data);
            form.extend_from_slice(b"\r\n");
        }
        form.extend_from_slice(format!("--{text}--\r\n").as_bytes());
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(form.len())).collect();
        places.sort_unstable();
        let mut inputs = Vec::new();
        let mut begin = 0;
        for place in places.into_iter().chain([form.len()]) {
            inputs.push(&form[begin..place]);
            begin = place;
        }
        let (parts, is_over) = read_of(&boundary(text), &inputs).unwrap();
        prop_assert!(is_over);
        let read: Vec<&[u8]> = parts.iter().map(|part| part.data.as_slice()).collect();
        let written: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn noise_means_the_same_in_any_cut(noise in data(), cut in any::<proptest::sample::Index>()) {
        let form = [b"--X\r\nContent-Disposition: form-data; name=a\r\n\r\n", noise.as_slice()].concat();
        let boundary = boundary("X");
        let (first, second) = form.split_at(cut.index(form.len()));
        prop_assert_eq!(read_of(&boundary, &[first, second]), read_of(&boundary, &[&form]));
    }
}
