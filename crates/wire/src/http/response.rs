//! The head of a response, written into the caller's buffer (RFC 9112, 4).
//!
//! Owns how a status line and fields look on the wire, and that nothing a caller passes can add a line.
//! Never decides what to answer.

use std::fmt;

use super::head::{Version, scan};
use super::spelling::write_name;
use super::status::Status;

/// A field that cannot be written without changing the meaning of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidField {
    /// The name is not a token.
    Name,
    /// The value contains a control character other than tab.
    Value,
}

impl fmt::Display for InvalidField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            InvalidField::Name => "a field name is not a token",
            InvalidField::Value => "a control byte in a field value",
        })
    }
}

impl std::error::Error for InvalidField {}

/// What happens to the connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Another request may follow.
    Keep,
    /// The connection closes.
    Close,
}

/// Room for a plain head, reserved at once.
const PLAIN_HEAD_SIZE: usize = 256;

/// Writes one response head, after the current content of the buffer.
pub struct HeadWriter<'o> {
    out: &'o mut Vec<u8>,
    version: Version,
}

impl<'o> HeadWriter<'o> {
    /// Writes the status line. It always says HTTP/1.1 (RFC 9110, 6.2); `version` is that of the client.
    #[inline]
    pub fn begin(out: &'o mut Vec<u8>, version: Version, status: Status) -> HeadWriter<'o> {
        out.reserve(PLAIN_HEAD_SIZE);
        if status == Status::OK {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            write_status_line(out, status);
        }
        HeadWriter { out, version }
    }

    /// Writes a field after checking every byte of it. Nothing is written if it is invalid.
    pub fn field(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidField> {
        append_field(self.out, name, value)
    }

    /// Writes one or more whole lines that are constants of the program: `Name: value\r\n`.
    #[inline]
    pub fn trusted_field(&mut self, line: &'static [u8]) {
        debug_assert!(line.ends_with(b"\r\n"), "a field line ends its line");
        self.out.extend_from_slice(line);
    }

    /// Writes Content-Length.
    #[inline]
    pub fn content_length(&mut self, length: u64) {
        self.out.extend_from_slice(b"Content-Length: ");
        // Copies of a size known to the compiler become stores, others become calls. Most answers are small.
        let digit = |unit: u64| b'0' + (length / unit % 10) as u8;
        match length {
            0..10 => self.out.extend_from_slice(&[digit(1), b'\r', b'\n']),
            10..100 => self.out.extend_from_slice(&[digit(10), digit(1), b'\r', b'\n']),
            100..1000 => {
                self.out.extend_from_slice(&[digit(100), digit(10), digit(1), b'\r', b'\n']);
            }
            _ => {
                self.out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Writes Date from an IMF-fixdate (RFC 9110, 5.6.7).
    #[inline]
    pub fn date(&mut self, date: &[u8; 29]) {
        self.out.extend_from_slice(b"Date: ");
        self.out.extend_from_slice(date);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Writes Connection, unless the client's version implies it (RFC 9112, 9.3).
    #[inline]
    pub fn connection(&mut self, persistence: Persistence) {
        match (persistence, self.version) {
            (Persistence::Keep, Version::Http11) => {}
            (Persistence::Keep, Version::Http10) => {
                self.trusted_field(b"Connection: keep-alive\r\n");
            }
            (Persistence::Close, _) => self.trusted_field(b"Connection: close\r\n"),
        }
    }

    /// Writes the empty line. The content begins after it.
    #[inline]
    pub fn finish(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

#[inline(never)]
fn write_status_line(out: &mut Vec<u8>, status: Status) {
    if let Some(line) = status.line() {
        return out.extend_from_slice(line);
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(status.code()).as_bytes());
    // RFC 9112, 4: the blank is required even if the reason phrase is empty.
    out.extend_from_slice(b" \r\n");
}

/// Appends a field to the head of an answer, after checking every byte of it. All answers have one spelling of a name.
///
/// # Errors
/// If the name or value cannot be in a head. Then nothing is written.
pub fn append_field(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), InvalidField> {
    check_field(name, value)?;
    write_field(out, name, value);
    Ok(())
}

/// The same with the name as it is spelt, for a request.
///
/// # Errors
/// If the name or value cannot be in a head. Then nothing is written.
pub fn append_field_as_spelt(
    out: &mut Vec<u8>,
    name: &str,
    value: &[u8],
) -> Result<(), InvalidField> {
    check_field(name, value)?;
    out.extend_from_slice(name.as_bytes());
    write_value(out, value);
    Ok(())
}

/// Whether a field can be written in the head or in the trailer section of a message.
pub(super) fn check_field(name: &str, value: &[u8]) -> Result<(), InvalidField> {
    if name.is_empty() || scan::token(name.as_bytes(), 0) != name.len() {
        return Err(InvalidField::Name);
    }
    if scan::value(value, 0) != value.len() {
        return Err(InvalidField::Value);
    }
    Ok(())
}

/// Writes a field that was checked.
pub(super) fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    write_name(out, name);
    write_value(out, value);
}

fn write_value(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: Status, write: impl FnOnce(&mut HeadWriter<'_>)) -> String {
        let mut out = b"before|".to_vec();
        let mut writer = HeadWriter::begin(&mut out, Version::Http11, status);
        write(&mut writer);
        writer.finish();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_plain_head_is_exactly_this() {
        let text = head(Status::OK, |writer| {
            writer.date(b"Sat, 21 Nov 2026 12:00:00 GMT");
            writer.trusted_field(b"Content-Type: text/plain\r\n");
            writer.content_length(13);
            writer.field("ETag", b"\"abc\"").unwrap();
        });
        let expected = "before|HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
            Content-Type: text/plain\r\nContent-Length: 13\r\nETag: \"abc\"\r\n\r\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn content_length_is_the_number() {
        for length in [0, 9, 10, 42, 99, 100, 907, 999, 1000, 65536, u64::MAX] {
            let text = head(Status::OK, |writer| writer.content_length(length));
            let expected = format!("before|HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn status_lines_of_codes_with_and_without_a_reason() {
        assert_eq!(head(Status::NOT_FOUND, |_| {}), "before|HTTP/1.1 404 Not Found\r\n\r\n");
        let unnamed = Status::from_code(299).unwrap();
        assert_eq!(head(unnamed, |_| {}), "before|HTTP/1.1 299 \r\n\r\n");
    }

    #[test]
    fn a_field_can_not_add_a_line() {
        for byte in (0..=255u8).filter(|byte| *byte != b'\t') {
            let value = [b'a', byte, b'b'];
            let name = format!("X{}Y", char::from(byte));
            let text = head(Status::OK, |writer| {
                let is_control = byte < 0x20 || byte == 0x7f;
                let expected = if is_control { Err(InvalidField::Value) } else { Ok(()) };
                assert_eq!(writer.field("X", if is_control { &value } else { b"v" }), expected);
                let written = writer.field(&name, b"v");
                assert_eq!(written.is_ok(), scan::is_token(byte), "{name:?}");
            });
            assert!(text.lines().all(|line| line.is_empty() || line.contains(' ')), "{text:?}");
        }
        assert_eq!(
            head(Status::OK, |writer| {
                assert_eq!(writer.field("", b"v"), Err(InvalidField::Name));
                assert_eq!(writer.field("X", b"a\r\nSet-Cookie: b"), Err(InvalidField::Value));
            }),
            "before|HTTP/1.1 200 OK\r\n\r\n"
        );
    }

    #[test]
    fn connection_is_said_where_the_version_does_not() {
        let said = |version, persistence| {
            let mut out = Vec::new();
            let mut writer = HeadWriter::begin(&mut out, version, Status::OK);
            writer.connection(persistence);
            String::from_utf8(out.split_off(17)).unwrap()
        };
        assert_eq!(said(Version::Http11, Persistence::Keep), "");
        assert_eq!(said(Version::Http10, Persistence::Keep), "Connection: keep-alive\r\n");
        assert_eq!(said(Version::Http11, Persistence::Close), "Connection: close\r\n");
        assert_eq!(said(Version::Http10, Persistence::Close), "Connection: close\r\n");
    }
}
