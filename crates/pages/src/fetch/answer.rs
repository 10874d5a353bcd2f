//! Answers: from bytes to status, header fields and body.
//!
//! Owns what is kept of an answer, and its limits. `wire`'s reader decides where an answer ends.

use wire::http::method::Method;
use wire::http::received::{Problem, ResponseReader, Then};

use super::failure::Failure;
use crate::limits::{FETCH_BODY_SIZE, FETCH_HEAD_SIZE};

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values, one per line.
    pub fields: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

/// Whether an answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Partial,
    Whole,
}

/// Whether any byte of an answer had arrived when its connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    BeforeFirstByte,
    Within,
}

/// An answer that is being received.
#[derive(Debug)]
pub(super) struct Reading {
    reader: ResponseReader,
    /// The lines so far, including those of interim responses.
    head: Vec<u8>,
    body: Vec<u8>,
    /// Bytes of input that were not consumed and are passed again.
    unread: usize,
}

impl Reading {
    pub(super) fn new(method: Method) -> Self {
        Self { reader: ResponseReader::new(method), head: Vec::new(), body: Vec::new(), unread: 0 }
    }

    /// Bytes of the body so far.
    pub(super) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Takes input and returns how much was consumed: everything except an incomplete line, or bytes after the end.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<(usize, Extent), Failure> {
        let mut consumed = 0;
        while let Some(rest) = input.get(consumed..).filter(|rest| !rest.is_empty()) {
            let had_head = self.reader.status().is_some();
            let step = self.reader.read(rest).map_err(Failure::NotAnAnswer)?;
            if !had_head {
                let head = rest.get(..step.consumed - step.body.len()).unwrap_or_default();
                if self.head.len() + head.len() > FETCH_HEAD_SIZE {
                    return Err(Failure::HeadTooLong);
                }
                self.head.extend_from_slice(head);
            }
            if self.body.len() + step.body.len() > FETCH_BODY_SIZE {
                return Err(Failure::BodyTooLong);
            }
            self.body.extend_from_slice(step.body);
            consumed += step.consumed;
            match step.then {
                Then::ReadRest => {}
                Then::Wait => break,
                Then::Finish => return Ok((consumed, Extent::Whole)),
            }
        }
        self.unread = input.len() - consumed;
        Ok((consumed, Extent::Partial))
    }

    /// The connection has ended, which may be the end of the answer.
    pub(super) fn close(&mut self) -> Result<(), Cut> {
        self.reader.close(self.unread).map_err(|error| match error.problem {
            Problem::ClosedBefore => Cut::BeforeFirstByte,
            _ => Cut::Within,
        })
    }

    /// Whether the connection may be reused after the answer.
    pub(super) fn is_persistent(&self) -> bool {
        self.reader.is_persistent()
    }

    /// The answer without its body, once its head is complete.
    pub(super) fn head(&self) -> Option<Answer> {
        let status = self.reader.status()?;
        Some(Answer { status, fields: fields_of(&self.head), body: Vec::new() })
    }

    /// The new part of the body since the last call.
    pub(super) fn take_body(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }

    /// The complete answer.
    pub(super) fn finish(self) -> Answer {
        let fields = fields_of(&self.head);
        Answer { status: self.reader.status().unwrap_or_default(), fields, body: self.body }
    }
}

/// The fields of the last head among the lines. The bytes after its empty line belong to the body.
fn fields_of(heads: &[u8]) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut is_final = false;
    for line in heads.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r\n").unwrap_or(line);
        if line.is_empty() {
            if is_final {
                break;
            }
        } else if line.starts_with(b"HTTP/") && line.get(8) == Some(&b' ') {
            // "HTTP/1.1 1xx" announces another head. The name of a field contains no slash.
            is_final = line.get(9) != Some(&b'1');
            fields.clear();
        } else if line.starts_with(b" ") || line.starts_with(b"\t") {
            // A folded line continues the value before it, after a space (RFC 9112 section 5.2).
            fields.pop();
            if fields.last() != Some(&b'\n') {
                fields.push(b' ');
            }
            fields.extend_from_slice(line.trim_ascii());
            fields.push(b'\n');
        } else if let Some(colon) = memchr::memchr(b':', line) {
            let (name, value) = line.split_at(colon);
            fields.extend(name.iter().map(u8::to_ascii_lowercase));
            fields.push(b'\n');
            fields.extend_from_slice(value.get(1..).unwrap_or_default().trim_ascii());
            fields.push(b'\n');
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an answer that arrives in pieces of `size` bytes, as from a connection.
    fn read(method: Method, text: &[u8], size: usize) -> Result<(usize, Option<Answer>), Failure> {
        let mut reading = Reading::new(method);
        let (mut begin, mut end) = (0, 0);
        while end < text.len() {
            end = text.len().min(end + size);
            let (consumed, extent) = reading.take(&text[begin..end])?;
            begin += consumed;
            if extent == Extent::Whole {
                return Ok((begin, Some(reading.finish())));
            }
        }
        Ok((begin, reading.close().ok().map(|()| reading.finish())))
    }

    fn answer(status: u16, fields: &str, body: &str) -> Answer {
        Answer { status, fields: fields.into(), body: body.into() }
    }

    #[test]
    fn answers_are_read_however_they_are_cut() {
        let cases: [(&str, Answer); 6] = [
            (
                "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\t d: e\r\nContent-Length:\r\n 3\r\nX-B: \r\n x\r\n\r\nabc",
                answer(200, "x-a\nb c d: e\ncontent-length\n3\nx-b\nx\n", "abc"),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A:  b c \r\n\r\nabc",
                answer(200, "content-length\n3\nx-a\nb c\n", "abc"),
            ),
            (
                "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nT: x\r\n\r\n",
                answer(404, "transfer-encoding\nchunked\n", "abcde"),
            ),
            (
                "HTTP/1.1 100 Continue\r\nX-Not: this\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 201 Made\r\nX-This: one\r\nContent-Length: 1\r\n\r\n1",
                answer(201, "x-this\none\ncontent-length\n1\n", "1"),
            ),
            ("HTTP/1.1 204 None\r\nA: b\r\n\r\n", answer(204, "a\nb\n", "")),
            (
                "HTTP/1.0 200 OK\r\n\r\nuntil: the\r\n\r\nend",
                answer(200, "", "until: the\r\n\r\nend"),
            ),
        ];
        for (text, expected) in cases {
            for size in [1, 2, 3, 7, 1000] {
                let (consumed, got) = read(Method::Get, text.as_bytes(), size).unwrap();
                assert_eq!(
                    (consumed, got.as_ref()),
                    (text.len(), Some(&expected)),
                    "{size} {text}"
                );
            }
        }
    }

    #[test]
    fn the_answer_to_head_has_no_body() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nHTTP";
        let (consumed, got) = read(Method::Head, text, 1000).unwrap();
        assert_eq!((consumed, got), (text.len() - 4, Some(answer(200, "content-length\n3\n", ""))));
    }

    #[test]
    fn what_is_no_answer_or_too_much_of_one_is_refused() {
        let failure = |text: &[u8]| read(Method::Get, text, 1000).unwrap_err();
        assert!(matches!(failure(b"SSH-2.0-OpenSSH\r\n"), Failure::NotAnAnswer(_)));
        let mut endless = b"HTTP/1.1 200 OK\r\n".to_vec();
        endless.resize(2 * FETCH_HEAD_SIZE, b'a');
        assert!(matches!(failure(&endless), Failure::NotAnAnswer(_)));
        let interim = b"HTTP/1.1 100 C\r\nX: ".iter().copied().chain([b'x'; 30_000]);
        let interim: Vec<u8> = interim.chain(*b"\r\n\r\n").collect();
        assert_eq!(failure(&interim.repeat(3)), Failure::HeadTooLong);
        let mut long = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        long.resize(FETCH_BODY_SIZE + 100, b'a');
        assert_eq!(failure(&long), Failure::BodyTooLong);
    }

    #[test]
    fn a_connection_that_ends_too_soon_says_how_soon() {
        let cut = |text: &str| {
            let mut reading = Reading::new(Method::Get);
            reading.take(text.as_bytes()).unwrap();
            reading.close()
        };
        assert_eq!(cut(""), Err(Cut::BeforeFirstByte));
        assert_eq!(cut("H"), Err(Cut::Within));
        assert_eq!(cut("HTTP/1.1 100 C\r\n\r\n"), Err(Cut::Within));
        assert_eq!(cut("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), Err(Cut::Within));
        assert_eq!(cut("HTTP/1.1 200 OK\r\n\r\nab"), Ok(()));
    }
}
