//! Goal: a receiver gets each line of a response once. Method: responses written by hand, cut at every size.

use wire::http::head::HttpVersion;
use wire::http::method::Method;
use wire::http::received::{AfterStep, Receiver, ResponseReader};

/// The lines of heads and the trailer section, as text.
#[derive(Default)]
struct Lines(String);

impl Receiver for Lines {
    fn begin(&mut self, version: HttpVersion, status: u16) {
        self.0 += &format!("<{version:?} {status}>");
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        self.0 += &format!("[{}|{}]", name.escape_ascii(), value.escape_ascii());
    }

    fn fold(&mut self, more: &[u8]) {
        self.0 += &format!("[+{}]", more.escape_ascii());
    }

    fn end(&mut self) {
        self.0 += "<end>";
    }

    fn trailer_byte(&mut self, byte: u8) {
        self.0.push(char::from(byte));
    }
}

/// The lines that a receiver gets, and the content, of input that arrives in pieces of this size.
fn received(mut reader: ResponseReader, input: &str, size: usize) -> (String, String) {
    let (mut lines, mut body, mut held) = (Lines::default(), Vec::new(), Vec::new());
    for piece in input.as_bytes().chunks(size) {
        held.extend_from_slice(piece);
        loop {
            let step = reader.read_to(&held, &mut lines).unwrap();
            body.extend_from_slice(step.body);
            let (consumed, then) = (step.consumed, step.then);
            held.drain(..consumed);
            if then != AfterStep::ReadRest {
                break;
            }
        }
    }
    (lines.0, String::from_utf8(body).unwrap())
}

#[test]
fn a_receiver_gets_each_line_once_however_the_input_is_cut() {
    let input = "HTTP/1.1 103 E\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n\
        Date: Sat, 21 Nov 2026 12:00:00 GMT\r\nServer: s \r\nX-A:\t b \r\n c\r\nContent-Type: t\r\n \td\r\n\
        Transfer-Encoding:\r\n chunked\r\nEmpty:\r\n\r\n2\r\nab\r\n0\r\nT: u\r\n\r\n";
    let expected = "<Http11 103>[Link|a]<end><Http11 200>[Date|Sat, 21 Nov 2026 12:00:00 GMT]\
        [Server|s][X-A|b][+c][Content-Type|t][+d][Transfer-Encoding|chunked][Empty|]<end>T: u\r\n\r\n";
    let counted = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nab";
    for size in 1..=input.len() {
        let get = || ResponseReader::new(Method::Get);
        assert_eq!(received(get(), input, size), (expected.to_owned(), "ab".to_owned()), "{size}");
        let lines = "<Http10 200>[Content-Length|2][content-length|2]<end>".to_owned();
        assert_eq!(received(get(), counted, size), (lines, "ab".to_owned()), "{size}");
    }
}

/// RFC 9110, 15.2.2.
#[test]
fn after_101_that_was_asked_for_everything_is_content() {
    let input = "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 101 S\r\nContent-Length: 1\r\n\r\nHTTP/1.1 bytes";
    for size in 1..=input.len() {
        let mut reader = ResponseReader::for_upgrade();
        let (lines, body) = received(reader.clone(), input, size);
        assert_eq!(lines, "<Http11 100><end><Http11 101>[Content-Length|1]<end>", "{size}");
        assert_eq!(body, "HTTP/1.1 bytes", "{size}");
        assert_eq!(reader.read(input.as_bytes()).map(|step| step.then), Ok(AfterStep::Wait));
        assert_eq!((reader.status(), reader.is_persistent()), (Some(101), false));
        assert_eq!(reader.close(0), Ok(()));
    }
    // The server may answer as if it had not been asked.
    let refused =
        received(ResponseReader::for_upgrade(), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 9);
    assert_eq!(refused.1, "a");
}
