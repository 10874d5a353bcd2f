//! Owns the strict parser of response heads, RFC 9112 sections 4 to 6. Reads no socket, and repairs nothing:
//! what a lenient client would accept is an error here, because the server is under test.

use crate::framing::{self, Content};
use crate::lines::{Framing, Lines, is_text, parse_fields};
pub use crate::lines::{ReceivedFields, ResponseViolation, StreamEnd};

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

/// One response, interim or final.
#[derive(Clone, Debug)]
pub struct ParsedResponse {
    /// Minor version: 0 or 1.
    pub version_minor: u8,
    /// Status code, 100 to 599.
    pub status: u16,
    /// Fields of the head.
    pub fields: ReceivedFields,
    /// Content after the removal of chunked coding.
    pub body: Vec<u8>,
    /// Trailer fields of a chunked response.
    pub trailers: ReceivedFields,
}

impl ParsedResponse {
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

/// The result of parsing.
#[derive(Clone, Debug)]
pub enum ParseResult {
    /// Not a complete response yet.
    Incomplete,
    /// A complete response, and its length in bytes.
    Complete(ParsedResponse, usize),
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

/// Parses one response at the front of the bytes.
pub fn parse_response(
    bytes: &[u8],
    request: RequestKind,
    end: StreamEnd,
) -> Result<ParseResult, ResponseViolation> {
    let mut lines = Lines::new(bytes);
    let head = match parse_head(&mut lines) {
        Ok(Some(head)) => head,
        Ok(None) if end == StreamEnd::Closed => return Err(ResponseViolation::Truncated),
        Ok(None) => return Ok(ParseResult::Incomplete),
        Err(error) => return Err(error),
    };
    let framing = framing_of(&head, request)?;
    let head_bytes = lines.position();
    let content = framing::read(&bytes[head_bytes..], framing, end)?;
    Ok(match content {
        None => ParseResult::Incomplete,
        Some(Content { body, trailers, used }) => {
            ParseResult::Complete(ParsedResponse { body, trailers, ..head }, head_bytes + used)
        }
    })
}

fn parse_head(lines: &mut Lines<'_>) -> Result<Option<ParsedResponse>, ResponseViolation> {
    let Some(line) = lines.next_line()? else { return Ok(None) };
    let (version_minor, status) = parse_status_line(line)?;
    let Some(fields) = parse_fields(lines)? else { return Ok(None) };
    for name in SINGLE_FIELDS {
        if fields.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name)).count() > 1 {
            return Err(ResponseViolation::FieldTwice);
        }
    }
    Ok(Some(ParsedResponse {
        version_minor,
        status,
        fields,
        body: Vec::new(),
        trailers: Vec::new(),
    }))
}

fn parse_status_line(line: &[u8]) -> Result<(u8, u16), ResponseViolation> {
    let rest = line.strip_prefix(b"HTTP/1.").ok_or(ResponseViolation::StatusLine)?;
    let [minor @ (b'0' | b'1'), b' ', a, b, c, b' ', reason @ ..] = rest else {
        return Err(ResponseViolation::StatusLine);
    };
    if ![a, b, c].iter().all(|digit| digit.is_ascii_digit()) || !reason.iter().all(is_text) {
        return Err(ResponseViolation::StatusLine);
    }
    let status = [a, b, c].iter().fold(0, |sum, digit| sum * 10 + u16::from(**digit - b'0'));
    if !(100..600).contains(&status) {
        return Err(ResponseViolation::StatusRange);
    }
    Ok((minor - b'0', status))
}

/// RFC 9112 section 6.3, for a strict client.
fn framing_of(head: &ParsedResponse, request: RequestKind) -> Result<Framing, ResponseViolation> {
    let length = match head.field("Content-Length") {
        None => None,
        Some(value) => Some(framing::parse_length(value).ok_or(ResponseViolation::ContentLength)?),
    };
    let coded = head.field("Transfer-Encoding").is_some();
    let bodiless = head.status < 200 || head.status == 204;
    let tunnel = request == RequestKind::Connect && (200..300).contains(&head.status);
    if bodiless || tunnel {
        let framed = length.is_some() || coded;
        return if framed { Err(ResponseViolation::FramingForbidden) } else { Ok(Framing::None) };
    }
    if coded && length.is_some() {
        return Err(ResponseViolation::LengthAndCoding);
    }
    if coded {
        let mut values = head.values("Transfer-Encoding");
        let chunked = values.next().is_some_and(|value| value.eq_ignore_ascii_case(b"chunked"));
        if !chunked || values.next().is_some() || head.version_minor == 0 {
            return Err(ResponseViolation::TransferCoding);
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
