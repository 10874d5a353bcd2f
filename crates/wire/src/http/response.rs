//! The head of a response, written into the caller's buffer (RFC 9112, 4).
//!
//! Owns how a status line and fields look on the wire, and that nothing a caller passes can add a line.
//! Never decides what to answer.

use super::head::scan;
use super::spelling::write_name;
use super::status::Status;

/// A field that cannot be written without changing the meaning of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidField {
    /// The name is not a token.
    #[error("a field name is not a token")]
    Name,
    /// The value contains a control character other than tab.
    #[error("a control byte in a field value")]
    Value,
    /// The list has no room for it: see [`FIELD_LIST_SIZE`](crate::limits::FIELD_LIST_SIZE).
    #[error("too many bytes of fields for one answer")]
    Room,
}

/// Appends the status line of an answer. It always says HTTP/1.1, whatever the version of the client (RFC 9110, 6.2).
#[inline(never)]
pub fn append_status_line(out: &mut Vec<u8>, status: Status) {
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
    write_name(out, name);
    write_value(out, value);
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
pub fn check_field(name: &str, value: &[u8]) -> Result<(), InvalidField> {
    if name.is_empty() || scan::token(name.as_bytes(), 0) != name.len() {
        return Err(InvalidField::Name);
    }
    check_value(value)
}

/// Whether a value can be that of a field.
pub(super) fn check_value(value: &[u8]) -> Result<(), InvalidField> {
    if scan::value(value, 0) == value.len() { Ok(()) } else { Err(InvalidField::Value) }
}

/// Writes the value of a field that was checked, and the end of its line.
pub(super) fn write_value(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_of_codes_with_and_without_a_reason() {
        for (code, line) in [(404, "HTTP/1.1 404 Not Found\r\n"), (299, "HTTP/1.1 299 \r\n")] {
            let mut out = Vec::new();
            append_status_line(&mut out, Status::from_code(code).unwrap());
            assert_eq!(out, line.as_bytes());
        }
    }

    #[test]
    fn a_field_can_not_add_a_line() {
        for byte in (0..=255u8).filter(|byte| *byte != b'\t') {
            let mut out = Vec::new();
            let is_control = byte < 0x20 || byte == 0x7f;
            let expected = if is_control { Err(InvalidField::Value) } else { Ok(()) };
            let written = append_field(&mut out, "X", &[b'a', byte, b'b']);
            assert_eq!(written, expected, "{byte}");
            let name = format!("X{}Y", char::from(byte));
            let written = append_field(&mut out, &name, b"v");
            assert_eq!(written.is_ok(), scan::is_token(byte), "{name:?}");
            let lines = usize::from(!is_control) + usize::from(scan::is_token(byte));
            assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), lines);
        }
        let mut out = Vec::new();
        assert_eq!(append_field(&mut out, "", b"v"), Err(InvalidField::Name));
        assert_eq!(append_field(&mut out, "X", b"a\r\nSet-Cookie: b"), Err(InvalidField::Value));
        assert!(out.is_empty());
    }
}
