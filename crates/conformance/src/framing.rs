//! Owns the content of responses: length, chunks, until close (RFC 9112 sections 6 and 7).
//! Never decides which of them applies (see `response`).

use crate::limits::{CHUNK_DIGITS_MAX, CHUNK_LINE_BYTES_MAX, RESPONSE_BODY_BYTES_MAX};
use crate::lines::{Framing, Lines, ReceivedFields, ResponseViolation, StreamEnd, parse_fields};

/// The content of one response.
pub(crate) struct Content {
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: ReceivedFields,
    pub(crate) used: usize,
}

impl Content {
    fn plain(body: &[u8]) -> Self {
        Self { body: body.to_vec(), trailers: Vec::new(), used: body.len() }
    }
}

/// The content, or `None` if it is incomplete and more bytes may come.
pub(crate) fn read(
    bytes: &[u8],
    framing: Framing,
    end: StreamEnd,
) -> Result<Option<Content>, ResponseViolation> {
    let content = match framing {
        Framing::None => Some(Content::plain(&[])),
        Framing::Length(length) => read_length(bytes, length)?,
        Framing::Chunked => read_chunks(bytes)?,
        Framing::UntilClose if bytes.len() > RESPONSE_BODY_BYTES_MAX => {
            return Err(ResponseViolation::BodySize);
        }
        Framing::UntilClose if end == StreamEnd::Closed => Some(Content::plain(bytes)),
        Framing::UntilClose => None,
    };
    if content.is_none() && end == StreamEnd::Closed {
        return Err(ResponseViolation::Truncated);
    }
    Ok(content)
}

/// Digits alone, within 64 bits.
pub(crate) fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn read_length(bytes: &[u8], length: u64) -> Result<Option<Content>, ResponseViolation> {
    let length = usize::try_from(length).map_err(|_| ResponseViolation::BodySize)?;
    if length > RESPONSE_BODY_BYTES_MAX {
        return Err(ResponseViolation::BodySize);
    }
    Ok(bytes.get(..length).map(Content::plain))
}

fn read_chunks(bytes: &[u8]) -> Result<Option<Content>, ResponseViolation> {
    let mut body = Vec::new();
    let mut position = 0;
    loop {
        let mut line = Lines::new(&bytes[position..]);
        let Some(size_line) = line.next_line().map_err(|_| ResponseViolation::Chunk)? else {
            return Ok(None);
        };
        let size = parse_size(size_line)?;
        position += line.position();
        if size == 0 {
            return read_trailers(bytes, position, body);
        }
        if body.len() + size > RESPONSE_BODY_BYTES_MAX {
            return Err(ResponseViolation::BodySize);
        }
        let Some(data) = bytes.get(position..position + size) else { return Ok(None) };
        body.extend_from_slice(data);
        position += size;
        match bytes.get(position..position + 2) {
            None => return Ok(None),
            Some(b"\r\n") => position += 2,
            Some(_) => return Err(ResponseViolation::Chunk),
        }
    }
}

fn parse_size(line: &[u8]) -> Result<usize, ResponseViolation> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits == 0 || digits > CHUNK_DIGITS_MAX || line.len() > CHUNK_LINE_BYTES_MAX {
        return Err(ResponseViolation::Chunk);
    }
    if line.get(digits).is_some_and(|byte| *byte != b';') {
        return Err(ResponseViolation::Chunk);
    }
    let text = std::str::from_utf8(&line[..digits]).map_err(|_| ResponseViolation::Chunk)?;
    let size = usize::from_str_radix(text, 16).map_err(|_| ResponseViolation::Chunk)?;
    if size > RESPONSE_BODY_BYTES_MAX {
        return Err(ResponseViolation::BodySize);
    }
    Ok(size)
}

fn read_trailers(
    bytes: &[u8],
    position: usize,
    body: Vec<u8>,
) -> Result<Option<Content>, ResponseViolation> {
    let mut lines = Lines::new(&bytes[position..]);
    let trailers = parse_fields(&mut lines)?;
    Ok(trailers.map(|trailers| Content { body, trailers, used: position + lines.position() }))
}
