//! Owns the reading of `multipart/byteranges`, RFC 9110 section 14.6. Never guesses a boundary.

use crate::escape::quote;
use crate::limits::MULTIPART_PARTS_MAX;
use crate::response::ParsedResponse;

/// Whether the response has exactly these ranges of the content, in this order.
pub(crate) fn check(
    response: &ParsedResponse,
    ranges: &[(u64, u64)],
    content: &[u8],
) -> Result<(), String> {
    let kind = response.field("Content-Type").ok_or("no Content-Type")?;
    let boundary = boundary(kind).ok_or_else(|| format!("no boundary in {}", quote(kind)))?;
    let parts = split(&response.body, &boundary)?;
    if parts.len() != ranges.len() {
        return Err(format!("{} parts instead of {}", parts.len(), ranges.len()));
    }
    for (part, (first, last)) in parts.iter().zip(ranges) {
        let end = find(part, b"\r\n\r\n").ok_or("a part without an end of its fields")?;
        // The line break before the first field belongs to the delimiter and is kept by the cut.
        let (fields, data) = (&part[..end + 2], &part[end + 4..]);
        let wanted = format!("\r\ncontent-range: bytes {first}-{last}/{}\r\n", content.len());
        if find(&fields.to_ascii_lowercase(), wanted.as_bytes()).is_none() {
            return Err(format!("a part for {first}-{last} with fields {}", quote(fields)));
        }
        if data != slice(content, *first, *last)? {
            return Err(format!("wrong content in the part for {first}-{last}: {}", quote(data)));
        }
    }
    Ok(())
}

/// The boundary of a `multipart/byteranges` type.
fn boundary(kind: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(kind).ok()?;
    let (essence, parameters) = text.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/byteranges") {
        return None;
    }
    let values = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
    let mut values = values.filter(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"));
    let (_, value) = values.next()?;
    let value = value.trim().trim_matches('"');
    if value.is_empty() { None } else { Some(value.to_owned()) }
}

/// The bytes between the delimiters, without the line break that belongs to the next one.
fn split<'body>(body: &'body [u8], boundary: &str) -> Result<Vec<&'body [u8]>, String> {
    let delimiter = format!("--{boundary}");
    let inner = format!("\r\n{delimiter}");
    let start = find(body, delimiter.as_bytes()).ok_or("the first boundary is missing")?;
    let mut rest = &body[start + delimiter.len()..];
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        if parts.len() == MULTIPART_PARTS_MAX {
            return Err("too many parts".to_owned());
        }
        let end = find(rest, inner.as_bytes()).ok_or("the last boundary is missing")?;
        parts.push(&rest[..end]);
        rest = &rest[end + inner.len()..];
    }
    Ok(parts)
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

/// Bytes of the file, both ends included.
pub(crate) fn slice(content: &[u8], first: u64, last: u64) -> Result<&[u8], String> {
    let bounds = usize::try_from(first).ok().zip(usize::try_from(last).ok());
    let part = bounds.and_then(|(first, last)| content.get(first..=last));
    part.ok_or_else(|| format!("the file is too short for bytes {first} to {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(body: &[u8]) -> ParsedResponse {
        let kind = b"multipart/byteranges; boundary=\"cut\"".to_vec();
        ParsedResponse {
            version_minor: 1,
            status: 206,
            fields: vec![("Content-Type".to_owned(), kind)],
            body: body.to_vec(),
            trailers: Vec::new(),
        }
    }

    const TWO: &[u8] = b"--cut\r\nContent-Type: a/b\r\nContent-Range: bytes 0-1/6\r\n\r\nab\r\n\
        --cut\r\nContent-Range: bytes 4-5/6\r\n\r\nef\r\n--cut--\r\n";

    #[test]
    fn two_parts_are_read() {
        assert_eq!(check(&response(TWO), &[(0, 1), (4, 5)], b"abcdef"), Ok(()));
    }

    #[test]
    fn wrong_data_or_a_missing_end_is_told() {
        assert!(check(&response(TWO), &[(0, 1), (4, 5)], b"abcdxx").is_err());
        assert!(check(&response(TWO), &[(0, 1)], b"abcdef").is_err());
        let open = &TWO[..TWO.len() - 9];
        assert!(check(&response(open), &[(0, 1), (4, 5)], b"abcdef").is_err());
    }
}
