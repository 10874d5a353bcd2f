//! Owns the strict parser of response heads, RFC 9112 sections 4 to 6. Never reads a socket, and never forgives:
//! what a lenient client would repair is an error here, because the server is what is being tested.

use std::fmt;

use crate::framing::{self, Content};
use crate::limits::{RESPONSE_FIELDS_MAX, RESPONSE_HEAD_BYTES_MAX};

/// The request a response belongs to, as far as framing depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// HEAD: the response has no content, whatever its fields say.
    Head,
    /// CONNECT: a 2xx response has no content, and what follows is a tunnel.
    Connect,
    /// Every other method.
    Other,
}

impl RequestKind {
    /// The kind of this method.
    pub fn of_method(method: Option<&str>) -> Self {
        match method {
            Some("HEAD") => Self::Head,
            Some("CONNECT") => Self::Connect,
            _ => Self::Other,
        }
    }
}

/// Whether more bytes can come.
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

/// Field lines in order: names as sent, values without surrounding blanks.
pub type Fields = Vec<(String, Vec<u8>)>;

/// One response, interim or final.
#[derive(Clone, Debug)]
pub struct Response {
    /// Minor version: 0 or 1.
    pub version_minor: u8,
    /// Status code, 100 to 599.
    pub status: u16,
    /// Fields of the head.
    pub fields: Fields,
    /// Content after the removal of chunked coding.
    pub body: Vec<u8>,
    /// Trailer fields of a chunked response.
    pub trailers: Fields,
}

impl Response {
    /// The value of the first field of this name, in any case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    /// The values of all fields of this name.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let matches = move |field: &&(String, Vec<u8>)| field.0.eq_ignore_ascii_case(name);
        self.fields.iter().filter(matches).map(|(_, value)| value.as_slice())
    }

    /// Whether the comma-separated list under this name has this member, in any case.
    pub fn lists(&self, name: &str, member: &str) -> bool {
        let mut members = self.values(name).flat_map(|value| value.split(|byte| *byte == b','));
        members.any(|found| found.trim_ascii().eq_ignore_ascii_case(member.as_bytes()))
    }

    /// Whether it is followed by another response to the same request. 101 is not (RFC 9110 section 15.2.2).
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

/// What is wrong with a response. Always the fault of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// A line that ends in LF without CR, or has a CR inside.
    LineEnd,
    /// Not `HTTP/1.0` or `HTTP/1.1`, one space, three digits, one space, a reason of visible bytes.
    StatusLine,
    /// A status outside 100 to 599.
    StatusRange,
    /// A field line that is not `token: value`, or has control bytes in it.
    FieldLine,
    /// More field lines than a client takes.
    FieldCount,
    /// A head longer than a client takes.
    HeadSize,
    /// A field twice that may come once (RFC 9110 section 5.3).
    FieldTwice,
    /// A Content-Length that is not a number (RFC 9110 section 8.6).
    ContentLength,
    /// Content-Length and Transfer-Encoding in one response (RFC 9112 section 6.2).
    LengthAndCoding,
    /// A transfer coding other than one `chunked`, or any in HTTP/1.0.
    TransferCoding,
    /// Framing fields where there cannot be content: 1xx and 204 (RFC 9112 section 6).
    FramingForbidden,
    /// A chunk whose size, data or end is malformed (RFC 9112 section 7.1).
    Chunk,
    /// More content than a client takes.
    BodySize,
    /// The connection ended before the response did.
    Truncated,
}

impl fmt::Display for ResponseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::LineEnd => "a line does not end in CR LF",
            Self::StatusLine => "malformed status line",
            Self::StatusRange => "status outside 100 to 599",
            Self::FieldLine => "malformed field line",
            Self::FieldCount => "too many fields",
            Self::HeadSize => "head too long",
            Self::FieldTwice => "a field twice that may come once",
            Self::ContentLength => "malformed Content-Length",
            Self::LengthAndCoding => "both Content-Length and Transfer-Encoding",
            Self::TransferCoding => "transfer coding other than one final chunked",
            Self::FramingForbidden => "framing fields in a 1xx or 204 response",
            Self::Chunk => "malformed chunk",
            Self::BodySize => "content too long",
            Self::Truncated => "the connection ended inside the response",
        })
    }
}

impl std::error::Error for ResponseError {}

/// How far the bytes reach.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// Not yet a whole response.
    Incomplete,
    /// A whole response, and how many bytes it took.
    Complete(Response, usize),
}

/// Fields of which a response has at most one (RFC 9110 section 5.3).
const SINGLE_FIELDS: &[&str] = &[
    "Age",
    "Content-Length",
    "Content-Location",
    "Content-Range",
    "Content-Type",
    "Date",
    "ETag",
    "Expires",
    "Last-Modified",
    "Location",
    "Retry-After",
    "Server",
];

/// One response from the front of the bytes.
pub fn parse_response(
    bytes: &[u8],
    request: RequestKind,
    end: StreamEnd,
) -> Result<Parsed, ResponseError> {
    let mut lines = Lines::new(bytes);
    let head = match parse_head(&mut lines) {
        Ok(Some(head)) => head,
        Ok(None) if end == StreamEnd::Closed => return Err(ResponseError::Truncated),
        Ok(None) => return Ok(Parsed::Incomplete),
        Err(error) => return Err(error),
    };
    let framing = framing_of(&head, request)?;
    let head_bytes = lines.position();
    let content = framing::read(&bytes[head_bytes..], framing, end)?;
    Ok(match content {
        None => Parsed::Incomplete,
        Some(Content { body, trailers, used }) => {
            Parsed::Complete(Response { body, trailers, ..head }, head_bytes + used)
        }
    })
}

fn parse_head(lines: &mut Lines<'_>) -> Result<Option<Response>, ResponseError> {
    let Some(line) = lines.next_line()? else { return Ok(None) };
    let (version_minor, status) = parse_status_line(line)?;
    let Some(fields) = parse_fields(lines)? else { return Ok(None) };
    for name in SINGLE_FIELDS {
        if fields.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name)).count() > 1 {
            return Err(ResponseError::FieldTwice);
        }
    }
    Ok(Some(Response { version_minor, status, fields, body: Vec::new(), trailers: Vec::new() }))
}

/// Field lines up to and with the empty line.
pub(crate) fn parse_fields(lines: &mut Lines<'_>) -> Result<Option<Fields>, ResponseError> {
    let mut fields = Vec::new();
    loop {
        match lines.next_line()? {
            None => return Ok(None),
            Some([]) => return Ok(Some(fields)),
            Some(_) if fields.len() == RESPONSE_FIELDS_MAX => {
                return Err(ResponseError::FieldCount);
            }
            Some(line) => fields.push(parse_field(line)?),
        }
    }
}

fn parse_status_line(line: &[u8]) -> Result<(u8, u16), ResponseError> {
    let rest = line.strip_prefix(b"HTTP/1.").ok_or(ResponseError::StatusLine)?;
    let [minor @ (b'0' | b'1'), b' ', a, b, c, b' ', reason @ ..] = rest else {
        return Err(ResponseError::StatusLine);
    };
    if ![a, b, c].iter().all(|digit| digit.is_ascii_digit()) || !reason.iter().all(is_text) {
        return Err(ResponseError::StatusLine);
    }
    let status = [a, b, c].iter().fold(0, |sum, digit| sum * 10 + u16::from(**digit - b'0'));
    if !(100..600).contains(&status) {
        return Err(ResponseError::StatusRange);
    }
    Ok((minor - b'0', status))
}

fn parse_field(line: &[u8]) -> Result<(String, Vec<u8>), ResponseError> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or(ResponseError::FieldLine)?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if name.is_empty() || !name.iter().all(is_token) || !value.iter().all(is_text) {
        return Err(ResponseError::FieldLine);
    }
    let name = name.iter().copied().map(char::from).collect();
    Ok((name, value.to_vec()))
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

/// Tab, space, visible and high bytes: what may stand in a field value or a reason.
fn is_text(byte: &u8) -> bool {
    *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)
}

/// RFC 9112 section 6.3, from the side of a client that forgives nothing.
fn framing_of(head: &Response, request: RequestKind) -> Result<Framing, ResponseError> {
    let length = match head.field("Content-Length") {
        None => None,
        Some(value) => Some(framing::parse_length(value).ok_or(ResponseError::ContentLength)?),
    };
    let coded = head.field("Transfer-Encoding").is_some();
    let bodiless = head.status < 200 || head.status == 204;
    let tunnel = request == RequestKind::Connect && (200..300).contains(&head.status);
    if bodiless || tunnel {
        let framed = length.is_some() || coded;
        return if framed { Err(ResponseError::FramingForbidden) } else { Ok(Framing::None) };
    }
    if coded && length.is_some() {
        return Err(ResponseError::LengthAndCoding);
    }
    if coded {
        let mut values = head.values("Transfer-Encoding");
        let chunked = values.next().is_some_and(|value| value.eq_ignore_ascii_case(b"chunked"));
        if !chunked || values.next().is_some() || head.version_minor == 0 {
            return Err(ResponseError::TransferCoding);
        }
    }
    if request == RequestKind::Head || head.status == 304 {
        return Ok(Framing::None);
    }
    Ok(match length {
        _ if coded => Framing::Chunked,
        Some(length) => Framing::Length(length),
        None => Framing::UntilClose,
    })
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

    /// The next line without its end, or `None` where the bytes do not reach.
    pub(crate) fn next_line(&mut self) -> Result<Option<&'bytes [u8]>, ResponseError> {
        let rest = &self.bytes[self.position..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        if self.position + end.unwrap_or(rest.len()) > RESPONSE_HEAD_BYTES_MAX {
            return Err(ResponseError::HeadSize);
        }
        let Some(end) = end else { return Ok(None) };
        let line = rest[..end].strip_suffix(b"\r").ok_or(ResponseError::LineEnd)?;
        if line.contains(&b'\r') {
            return Err(ResponseError::LineEnd);
        }
        self.position += end + 1;
        Ok(Some(line))
    }
}
