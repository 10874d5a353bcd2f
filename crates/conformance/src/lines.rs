//! Lines and fields of a response, and their possible errors.
//!
//! Owns the grammar of a line and of a field. Does not decide where the content ends.

use crate::limits::{RESPONSE_FIELDS_MAX, RESPONSE_HEAD_BYTES_MAX};

/// Whether more bytes can arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The server may still send.
    Open,
    /// The server has closed.
    Closed,
}

/// How the end of the content was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There cannot be any content.
    None,
    /// Content-Length.
    Length(u64),
    /// Transfer-Encoding: chunked.
    Chunked,
    /// The end of the connection.
    UntilClose,
}

/// Field lines in order: names as sent, values without surrounding spaces and tabs.
pub type ReceivedFields = Vec<(String, Vec<u8>)>;

/// A violation of the protocol by a response. The server is always at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseViolation {
    /// A line that ends in LF without CR, or has a CR inside.
    #[error("a line does not end in CR LF")]
    LineEnd,
    /// Not `HTTP/1.0` or `HTTP/1.1`, one space, three digits, one space, a reason of visible bytes.
    #[error("malformed status line")]
    StatusLine,
    /// A status outside 100 to 599.
    #[error("status outside 100 to 599")]
    StatusRange,
    /// A field line that is not `token: value`, or has control bytes in it.
    #[error("malformed field line")]
    FieldLine,
    /// More field lines than a client takes.
    #[error("too many fields")]
    FieldCount,
    /// A head longer than a client takes.
    #[error("head too long")]
    HeadSize,
    /// A field twice that may come once (RFC 9110 section 5.3).
    #[error("a field twice that may come once")]
    FieldTwice,
    /// A Content-Length that is not a number (RFC 9110 section 8.6).
    #[error("malformed Content-Length")]
    ContentLength,
    /// Content-Length and Transfer-Encoding in one response (RFC 9112 section 6.2).
    #[error("both Content-Length and Transfer-Encoding")]
    LengthAndCoding,
    /// A transfer coding other than one `chunked`, or any in HTTP/1.0.
    #[error("transfer coding other than one final chunked")]
    TransferCoding,
    /// Framing fields where there cannot be content: 1xx and 204 (RFC 9112 section 6).
    #[error("framing fields in a 1xx or 204 response")]
    FramingForbidden,
    /// A chunk whose size, data or end is malformed (RFC 9112 section 7.1).
    #[error("malformed chunk")]
    Chunk,
    /// More content than a client takes.
    #[error("content too long")]
    BodySize,
    /// The connection ended before the response did.
    #[error("the connection ended inside the response")]
    Truncated,
}

/// Field lines up to and with the empty line.
pub(crate) fn parse_fields(
    lines: &mut Lines<'_>,
) -> Result<Option<ReceivedFields>, ResponseViolation> {
    let mut fields = Vec::new();
    loop {
        match lines.next_line()? {
            None => return Ok(None),
            Some([]) => return Ok(Some(fields)),
            Some(_) if fields.len() == RESPONSE_FIELDS_MAX => {
                return Err(ResponseViolation::FieldCount);
            }
            Some(line) => fields.push(parse_field(line)?),
        }
    }
}

fn parse_field(line: &[u8]) -> Result<(String, Vec<u8>), ResponseViolation> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or(ResponseViolation::FieldLine)?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if name.is_empty() || !name.iter().all(is_token) || !value.iter().all(is_text) {
        return Err(ResponseViolation::FieldLine);
    }
    let name = name.iter().copied().map(char::from).collect();
    Ok((name, value.to_vec()))
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

/// Tab, space, visible and high bytes: the bytes of a field value or a reason.
pub(crate) fn is_text(byte: &u8) -> bool {
    *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)
}

/// Cuts bytes into lines that end in CR LF.
pub(crate) struct Lines<'bytes> {
    bytes: &'bytes [u8],
    position: usize,
}

impl<'bytes> Lines<'bytes> {
    pub(crate) fn new(bytes: &'bytes [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// How many bytes the lines took so far.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The next line without its end, or `None` if it is incomplete.
    pub(crate) fn next_line(&mut self) -> Result<Option<&'bytes [u8]>, ResponseViolation> {
        let rest = &self.bytes[self.position..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        if self.position + end.unwrap_or(rest.len()) > RESPONSE_HEAD_BYTES_MAX {
            return Err(ResponseViolation::HeadSize);
        }
        let Some(end) = end else { return Ok(None) };
        let line = rest[..end].strip_suffix(b"\r").ok_or(ResponseViolation::LineEnd)?;
        if line.contains(&b'\r') {
            return Err(ResponseViolation::LineEnd);
        }
        self.position += end + 1;
        Ok(Some(line))
    }
}
