//! The request target: path and query, decoded once and made safe to look up.
//!
//! Owns percent-decoding, dot segments and the way back for redirects. Never judges the request
//! line (that is `head`), never looks at a file: that a symbolic link leaves the root is for the
//! opener to refuse.

use std::borrow::Cow;
use std::iter::FusedIterator;

use memchr::{memchr, memchr2, memrchr};

use super::head::scan;
use super::url;
use crate::escape::{hex_high, hex_low};

/// The meaning of a name with a leading dot in a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DotFiles {
    /// Reported with [`PathError::Hidden`], except `/.well-known` (RFC 8615).
    #[default]
    Hide,
    /// An ordinary name.
    Show,
}

/// Why a path cannot be resolved. The client is at fault in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// 400: it does not start with `/`, as in `OPTIONS *`.
    #[error("path does not start with a slash")]
    NotAbsolute,
    /// 400: a byte that is not allowed unencoded in a path: control, blank, `#`, `?`, 0x7F or above.
    #[error("path has a byte that must be percent-encoded")]
    Character,
    /// 400: a `%` without two hexadecimal digits after it.
    #[error("path has a percent sign without two hexadecimal digits")]
    Escape,
    /// 400: an encoded control character, including `%00`.
    #[error("path has an encoded control character")]
    Control,
    /// 400: the decoded bytes are not UTF-8; overlong forms and surrogates are invalid.
    #[error("path is not UTF-8")]
    Encoding,
    /// 400: an encoded `/`, or a backslash, encoded or not.
    #[error("path has an encoded slash or a backslash")]
    Separator,
    /// 400: more `..` than there are segments before them.
    #[error("path leaves the root")]
    AboveRoot,
    /// 404: a name that starts with a dot, whether the file exists or not.
    #[error("path names a hidden file")]
    Hidden,
}

impl PathError {
    /// The status to answer with: 400 or 404.
    pub const fn status(self) -> u16 {
        match self {
            Self::Hidden => 404,
            Self::NotAbsolute
            | Self::Character
            | Self::Escape
            | Self::Control
            | Self::Encoding
            | Self::Separator
            | Self::AboveRoot => 400,
        }
    }
}

/// Splits a request target into path and query, at the first `?`.
///
/// For the absolute form (RFC 9112 section 3.2.2) with `http` or `https`, scheme and authority are
/// skipped. The path is then empty for `http://host`, which [`resolve`] treats as `/`.
#[inline]
pub fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    let target = if target.first() == Some(&b'/') { target } else { without_authority(target) };
    let (path, rest) = target.split_at(scan::path(target));
    (path, rest.split_first().map(|(_, query)| query))
}

#[inline(never)]
fn without_authority(target: &[u8]) -> &[u8] {
    url::scheme(target).map_or(target, |(_, rest)| url::split_authority(rest).1)
}

/// [`resolve_with`] without names that begin with a dot.
///
/// # Errors
/// If the path cannot be resolved.
pub fn resolve<'s>(path: &[u8], scratch: &'s mut Vec<u8>) -> Result<&'s str, PathError> {
    resolve_with(path, DotFiles::Hide, scratch)
}

/// Resolves a path: decodes it exactly once and removes dot segments (RFC 3986 section 5.2.4).
///
/// The result starts with `/`, keeps a trailing slash, and contains no empty segment, no `.` and no
/// `..`: several slashes count as one, and `..` removes the last named segment.
/// `scratch` is overwritten; it never grows beyond the length of the path, or one byte.
///
/// # Errors
/// If the path cannot be resolved.
pub fn resolve_with<'s>(
    path: &[u8],
    dot_files: DotFiles,
    scratch: &'s mut Vec<u8>,
) -> Result<&'s str, PathError> {
    scratch.clear();
    match path.first() {
        // The empty path of the absolute form means the root (RFC 9110 section 4.2.3).
        None => scratch.push(b'/'),
        Some(b'/') => decode_path(path, EncodedSlash::Refused, scratch)?,
        Some(_) => return Err(PathError::NotAbsolute),
    }
    if !scratch.windows(2).any(|pair| matches!(pair, b"//" | b"/.")) {
        return simdutf8::basic::from_utf8(scratch).map_err(|_| PathError::Encoding);
    }
    // Checked before segments are removed: the whole path is checked, not only what remains of it.
    simdutf8::basic::from_utf8(scratch).map_err(|_| PathError::Encoding)?;
    remove_dot_segments(scratch)?;
    let resolved = simdutf8::basic::from_utf8(scratch).map_err(|_| PathError::Encoding)?;
    if dot_files == DotFiles::Hide && names_dot_file(resolved) {
        return Err(PathError::Hidden);
    }
    Ok(resolved)
}

/// A path with encoded slashes in its two readings, decoded. A server that gets it may have the one or the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashReadings {
    /// An encoded slash is a slash.
    pub slashes: String,
    /// It is a part of a name, and stays as it is: `%2F`.
    pub letters: String,
}

impl SlashReadings {
    /// The readings of a path.
    ///
    /// # Errors
    /// If the path cannot be resolved for another reason, or has empty segments or dot segments in one of its readings:
    /// those would be resolved in two ways. [`PathError::Separator`] is then the error.
    pub fn of(path: &[u8]) -> Result<Self, PathError> {
        let read = |slash| {
            let mut decoded = Vec::with_capacity(path.len());
            decode_path(path, slash, &mut decoded)?;
            String::from_utf8(decoded).map_err(|_| PathError::Encoding)
        };
        let this =
            Self { slashes: read(EncodedSlash::Slash)?, letters: read(EncodedSlash::Letters)? };
        // Each segment of the other reading consists of such segments.
        let mut segments = this.slashes.split('/').skip(1).peekable();
        while let Some(segment) = segments.next() {
            let is_last = segments.peek().is_none();
            if matches!(segment, "." | "..") || segment.is_empty() && !is_last {
                return Err(PathError::Separator);
            }
        }
        if path.first() == Some(&b'/') { Ok(this) } else { Err(PathError::NotAbsolute) }
    }
}

/// How an encoded slash is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EncodedSlash {
    Refused,
    Slash,
    Letters,
}

fn decode_path(path: &[u8], slash: EncodedSlash, out: &mut Vec<u8>) -> Result<(), PathError> {
    let mut rest = path;
    loop {
        let run = rest.iter().position(|&byte| !stands_raw(byte)).unwrap_or(rest.len());
        let (plain, special) = rest.split_at(run);
        out.extend_from_slice(plain);
        rest = match special {
            [] => return Ok(()),
            [b'%', high, low, after @ ..] => {
                let byte = decode_pair(*high, *low).ok_or(PathError::Escape)?;
                match (byte, slash) {
                    (b'/', EncodedSlash::Slash) => out.push(b'/'),
                    (b'/', EncodedSlash::Letters) => out.extend_from_slice(b"%2F"),
                    _ => out.push(admit(byte)?),
                }
                after
            }
            [b'%', ..] => return Err(PathError::Escape),
            [b'\\', ..] => return Err(PathError::Separator),
            _ => return Err(PathError::Character),
        };
    }
}

/// Whether a byte of a path needs no closer check. `"<>^|{}` and the backquote are no URI characters
/// either, but many clients send them, and they mean nothing to the resolver.
const fn stands_raw(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E) && !matches!(byte, b'%' | b'\\' | b'#' | b'?')
}

/// Checks a byte from a percent escape.
const fn admit(byte: u8) -> Result<u8, PathError> {
    match byte {
        0..0x20 | 0x7F => Err(PathError::Control),
        b'/' | b'\\' => Err(PathError::Separator),
        _ => Ok(byte),
    }
}

/// The byte that two hexadecimal digits stand for.
pub(in crate::http) const fn decode_pair(high: u8, low: u8) -> Option<u8> {
    match (hex_value(high), hex_value(low)) {
        (Some(high), Some(low)) => Some(high << 4 | low),
        _ => None,
    }
}

const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// In place: `path` starts with `/`, and the write position never passes the read position.
fn remove_dot_segments(path: &mut Vec<u8>) -> Result<(), PathError> {
    // When a segment is read, the bytes before `written` end with a slash.
    let mut written = 1;
    let mut read = 1;
    while read < path.len() {
        let end = memchr(b'/', &path[read..]).map_or(path.len(), |length| read + length);
        match &path[read..end] {
            b"" | b"." => {}
            b".." if written == 1 => return Err(PathError::AboveRoot),
            b".." => written = memrchr(b'/', &path[..written - 1]).map_or(1, |slash| slash + 1),
            name => {
                let length = name.len();
                path.copy_within(read..end, written);
                written += length;
                if end < path.len() {
                    path[written] = b'/';
                    written += 1;
                }
            }
        }
        read = end + 1;
    }
    path.truncate(written);
    Ok(())
}

/// `path` has no dot segments.
fn names_dot_file(path: &str) -> bool {
    let rest = match path.strip_prefix("/.well-known") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => path,
    };
    rest.as_bytes().windows(2).any(|pair| pair == b"/.")
}

/// Writes a decoded path for a `Location` field: percent-encoded, from the root of this server.
///
/// Only unreserved characters, `/` and harmless delimiters are written unencoded: no blank, control,
/// quote, `%`, `?`, `#` or backslash. Several leading slashes become one, so that `//host` cannot become
/// a network-path reference (RFC 3986 section 4.2); a path without one gets one.
pub fn encode_path(path: &str, out: &mut Vec<u8>) {
    out.push(b'/');
    let mut rest = path.trim_start_matches('/').as_bytes();
    while !rest.is_empty() {
        let run = rest.iter().position(|&byte| !goes_out_raw(byte)).unwrap_or(rest.len());
        let (plain, special) = rest.split_at(run);
        out.extend_from_slice(plain);
        rest = match special {
            [] => special,
            [byte, after @ ..] => {
                let (high, low) = (hex_high(*byte), hex_low(*byte));
                out.extend_from_slice(&[b'%', high.to_ascii_uppercase(), low.to_ascii_uppercase()]);
                after
            }
        };
    }
}

/// Adds a text; everything except letters, digits and `kept` is percent-encoded (RFC 3986 section 2.1).
pub fn percent_encode(text: &str, kept: &[u8], out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            let digits =
                [hex_high(byte), hex_low(byte)].map(|digit| char::from(digit.to_ascii_uppercase()));
            out.extend(['%', digits[0], digits[1]]);
        }
    }
}

const fn goes_out_raw(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&')
        || matches!(byte, b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@')
}

/// The decoded pairs of a query, at most `maximum` of them; see
/// [`QUERY_PAIRS_MAXIMUM`](crate::limits::QUERY_PAIRS_MAXIMUM).
///
/// Pairs are separated by `&`, name and value by the first `=`. A pair without `=` has an empty value;
/// empty pairs are skipped. `+` is a blank. A `%` without two hexadecimal digits is kept, as in
/// browsers. The result is bytes, because a query may contain any.
pub const fn query_pairs(query: &[u8], maximum: usize) -> QueryPairs<'_> {
    QueryPairs { rest: query, remaining: maximum }
}

/// The pairs of a query; see [`query_pairs`].
#[derive(Clone, Debug)]
pub struct QueryPairs<'q> {
    rest: &'q [u8],
    remaining: usize,
}

impl QueryPairs<'_> {
    /// Whether there is input that this iterator has not returned. After the last pair this tells
    /// whether the query had more pairs than the maximum.
    pub fn has_more(&self) -> bool {
        self.rest.iter().any(|&byte| byte != b'&')
    }
}

impl<'q> Iterator for QueryPairs<'q> {
    type Item = (Cow<'q, [u8]>, Cow<'q, [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining == 0 {
            return None;
        }
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let (pair, rest) = match memchr(b'&', self.rest) {
                Some(at) => (&self.rest[..at], &self.rest[at + 1..]),
                None => (self.rest, [].as_slice()),
            };
            self.rest = rest;
            if pair.is_empty() {
                continue;
            }
            self.remaining -= 1;
            let (name, value) = match memchr(b'=', pair) {
                Some(at) => (&pair[..at], &pair[at + 1..]),
                None => (pair, [].as_slice()),
            };
            return Some((decode_query(name), decode_query(value)));
        }
    }
}

impl FusedIterator for QueryPairs<'_> {}

fn decode_query(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr2(b'%', b'+', text) else {
        return Cow::Borrowed(text);
    };
    let mut decoded = Vec::with_capacity(text.len());
    let (plain, mut rest) = text.split_at(first);
    decoded.extend_from_slice(plain);
    loop {
        let (byte, after) = match rest {
            [] => return Cow::Owned(decoded),
            [b'+', after @ ..] => (b' ', after),
            [b'%', high, low, after @ ..] => match decode_pair(*high, *low) {
                Some(byte) => (byte, after),
                None => (b'%', &rest[1..]),
            },
            [byte, after @ ..] => (*byte, after),
        };
        decoded.push(byte);
        rest = after;
    }
}
