//! The answer that all later answers are compared with.
//!
//! Owns what is learned from the first one: its length, and where its length field is. Never
//! parses a later one: those must have the same status, the same length field in the same place, and
//! as many bytes.

use std::ops::Range;

/// The beginning of every good answer.
const GOOD_START: &[u8] = b"HTTP/1.1 200 ";

/// The form of all answers of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Bytes of an answer, header and body.
    pub(crate) bytes: usize,
    /// The line with the length, and its offset.
    length_line: Vec<u8>,
    place: Range<usize>,
}

/// The state of the first answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// It is incomplete.
    Partial,
    /// It is complete, and this is its form.
    Whole(Form),
    /// It cannot be used for a measurement.
    Wrong(&'static str),
}

/// Checks the received part of the first answer.
pub(crate) fn first(bytes: &[u8]) -> First {
    let Some(head_bytes) = find(bytes, b"\r\n\r\n").map(|at| at + 4) else { return First::Partial };
    if !bytes.starts_with(GOOD_START) {
        return First::Wrong("its status is not 200");
    }
    let mut start = 0;
    while let Some(line_bytes) = find(&bytes[start..head_bytes], b"\r\n").filter(|bytes| *bytes > 0)
    {
        let place = start..start + line_bytes;
        if let Some(body_bytes) = content_length(&bytes[place.clone()]) {
            let whole = head_bytes + body_bytes;
            let length_line = bytes[place.clone()].to_vec();
            return match bytes.len() {
                length if length < whole => First::Partial,
                length if length == whole => {
                    First::Whole(Form { bytes: whole, length_line, place })
                }
                _ => First::Wrong("more came than it announced"),
            };
        }
        start += line_bytes + 2;
    }
    First::Wrong("it has no Content-Length")
}

impl Form {
    /// Whether a whole answer has this form.
    pub(crate) fn fits(&self, answer: &[u8]) -> bool {
        answer.len() == self.bytes
            && answer.starts_with(GOOD_START)
            && answer.get(self.place.clone()) == Some(&self.length_line[..])
    }
}

fn content_length(line: &[u8]) -> Option<usize> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\nDate: 1\r\ncontent-length: 3\r\nServer: x\r\n\r\nabc";

    #[test]
    fn the_first_answer_gives_the_form() {
        for cut in 0..ANSWER.len() {
            assert_eq!(first(&ANSWER[..cut]), First::Partial, "cut at {cut}");
        }
        let First::Whole(form) = first(ANSWER) else { panic!("not whole") };
        assert_eq!(form.bytes, ANSWER.len());
        assert!(form.fits(ANSWER));
    }

    #[test]
    fn an_answer_of_another_status_length_or_size_does_not_fit() {
        let First::Whole(form) = first(ANSWER) else { panic!("not whole") };
        let changed =
            |from: &str, to: &str| String::from_utf8_lossy(ANSWER).replace(from, to).into_bytes();
        assert!(form.fits(&changed("Date: 1", "Date: 2")));
        assert!(!form.fits(&changed("200", "503")));
        assert!(!form.fits(&changed("length: 3", "length: 9")));
        assert!(!form.fits(&ANSWER[1..]));
        assert!(!form.fits(&[ANSWER, b"x"].concat()));
    }

    #[test]
    fn unsuitable_answer_is_named() {
        assert_eq!(first(b"HTTP/1.1 404 No\r\n\r\n"), First::Wrong("its status is not 200"));
        assert_eq!(
            first(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
            First::Wrong("it has no Content-Length")
        );
        let more = [ANSWER, b"!"].concat();
        assert_eq!(first(&more), First::Wrong("more came than it announced"));
    }
}
